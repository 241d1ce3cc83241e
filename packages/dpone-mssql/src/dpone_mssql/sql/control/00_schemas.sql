-- Namespaces of the control state and of the images; both belong to the installer.
CREATE SCHEMA {{control}};
GO
CREATE SCHEMA {{images}};
GO
CREATE ROLE {{runtime}};
GO
