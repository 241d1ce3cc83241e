"""The command line: parse, call one application service, render."""
