select at, id from [MART].[Reads_Itself_By_Name]
