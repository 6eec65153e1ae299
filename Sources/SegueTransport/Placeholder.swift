import SegueModel
