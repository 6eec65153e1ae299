// Who uses this module has the errors of the system, too.
@_exported import SegueSystem
