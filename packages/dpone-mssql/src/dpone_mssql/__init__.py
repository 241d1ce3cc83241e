"""SQL Server control state, fencing, scope mutation, images and recovery reads."""
