// Modules that import this one have the errors of the system, too.
@_exported import SegueSystem
