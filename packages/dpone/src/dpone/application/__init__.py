"""Application services: one module a stage or command, functions of ports and documents."""
