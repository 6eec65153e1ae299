import CLinux
import SegueAgent

exit(Agent.run())
