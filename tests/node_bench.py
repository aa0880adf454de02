"""A C node on a platform without a world, for tests."""

from node_programs import bundle

from lpn.runtime.dispatch import Event
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.node import Costs


FREE = Costs(0, 0, 0)


class Bench:
    """A platform without a world: time is set, what the node does is written down."""

    def __init__(self, hooks, programs, on_trace=lambda a, b: None):
        self.clock, self.log, self.at, self.busy, self.on_trace = 0, [], None, 0, on_trace
        self.runs = []
        self.node = NativeDispatch(bundle(hooks, programs), self)

    def now(self):
        return self.clock & 0xFFFFFFFF

    def set_timer(self, at):
        self.at = at

    def radio(self, command, argument):
        self.log.append((command, argument))
        return 0

    def send(self, target, frame):
        self.log.append((target, frame))
        return self.busy

    def ran(self, run):
        self.runs.append(run)
        self.log.append(self.node.names[run.hook])

    def overrun(self, hook):
        self.log.append(f"overrun {self.node.names[hook]}")

    def timer(self, hook, delay):
        pass

    def trace(self, a, b):
        self.on_trace(a, b)

    def event(self, name, *selector, packet=None, time=None):
        return self.node.event(Event(name, self.now() if time is None else time, selector, packet))

    def poll_all(self):
        while self.node.poll():
            pass


def held(bench):
    return bench.node.counts().held
