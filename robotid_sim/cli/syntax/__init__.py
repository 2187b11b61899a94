"""The words of the commands: arguments, options and help, one module a command."""
