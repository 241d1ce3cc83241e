"""The Tabular Data Stream 7.4 protocol as a server speaks it: bytes in, bytes out, no session state."""
