"""Which operations does a plan mean, device by device?

Rules: everything that can be wrong is found here, before any connection, at the place of the step; what is wrong for
many devices of one profile is said once. A step's id is the one given to it or else its command as the catalog spells
it, so that moving it or inserting others changes nothing; equal commands without ids are numbered on each device.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from agent.inventory import Defaults, Device, Inventory
from agent.operation import Operation
from agent.orders import order_of
from agent.plans.plan_file import PlanFile, Step
from agent.profile_folders import load_profile
from agent.selection import select
from agent.settings import Settings
from agent.stations import obstacle
from agent.targets import Chosen, choose_devices, inventory_of
from devices import catalog
from devices.problems import FileProblem, FileProblems, UsageProblem, together
from devices.source import Place

KEY_PREFIX = "plan:"
"""Keys that begin so are those of plans."""


@dataclass(frozen=True, slots=True)
class StepWork:
    """A step on one device: its id, and the operation with run, step, key and reason."""

    id: str
    operation: Operation


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """All that a plan wants of one device, in the order of the steps."""

    chosen: Chosen
    steps: tuple[StepWork, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A plan as operations, device by device in the order of the inventory; devices without a step are left out."""

    plan: PlanFile
    run: str
    key: str
    work: tuple[DeviceWork, ...]

    def operations(self) -> Iterator[Operation]:
        """Every operation, device by device."""
        return (step.operation for each in self.work for step in each.steps)


def step_key(plan: str, key: str, step: str) -> str:
    """The operation key of a step: `plan:NAME:KEY:STEP`, each part percent-quoted so that none runs into the next."""
    return KEY_PREFIX + ":".join(quote(part, safe=" +,=./") for part in (plan, key, step))


def lay_out(
    settings: Settings,
    plan: PlanFile,
    *,
    run: str,
    key: str,
    reason: str | None,
    only: Sequence[str] = (),
    found: Sequence[FileProblem] = (),
) -> Layout:
    """Lay a plan out over the devices of the inventory.

    Args:
        settings: where inventory and profiles are, and who asks.
        plan: the plan.
        run: id of the run that the operations belong to.
        key: the run key, under which no step is done twice.
        reason: why, for the journal.
        only: target patterns typed by a person; work is laid out for those of the plan's devices only.
        found: what the plan's file is wrong about by itself (`Draft.problems`), to be told with the rest.

    Raises:
        FileProblems: everything in the plan that does not fit inventory and profiles, and `found`; an inventory, a
            profile.
        UsageProblem: there is no inventory; one of `only` means no device of the plan, or they mean none that a step
            is for.
    """
    problems = _Problems(plan.path, found)
    try:
        inventory = inventory_of(settings)
    except FileProblems as wrong:
        raise FileProblems([*found, *wrong.problems]) from None
    names = _targets(inventory, plan, problems)
    members = [_members(inventory, plan, step, names, problems) for step in plan.steps]
    wanted = _only(inventory, plan, names, only) if names else set()
    work = []
    for each in _choose(settings, inventory, plan, wanted, problems):
        own = [step for step, its in zip(plan.steps, members, strict=True) if each.device.name in its]
        orders = [(step, _order(settings, each, step, reason, problems)) for step in own]
        steps = _named(plan, orders, run, key, problems)
        if steps:
            work.append(DeviceWork(each, steps))
    problems.stop_if_any()
    if not work:
        raise UsageProblem(f"no step of the plan {plan.name} is for {', '.join(only)}")
    return Layout(plan, run, key, tuple(work))


class _Problems:
    """What is wrong, each thing once with the devices that it is about."""

    def __init__(self, path: str, found: Sequence[FileProblem]) -> None:
        self._path = path
        self._found = tuple(found)
        self._of_profiles: list[FileProblem] = []
        self._about: dict[tuple[Place, str, str | None, str], list[str]] = {}

    def add(
        self, where: Place, message: str, hint: str | None, *, profile: str = "", device: str = ""
    ) -> None:
        """Note a problem; where it is about devices, `device` is one of them and `profile` may say of which model."""
        devices = self._about.setdefault((where, message, hint, profile), [])
        if device:
            devices.append(device)

    def stop_if_any(self) -> None:
        """Raise FileProblems where something was noted."""
        told = [self._told(*about, devices) for about, devices in self._about.items()]
        everything = [*self._found, *told, *self._of_profiles]
        if everything:
            raise FileProblems(everything)

    def of_profile(self, problems: FileProblems) -> None:
        """Note what is wrong with the file of a profile."""
        self._of_profiles += problems.problems

    def _told(
        self, where: Place, message: str, hint: str | None, profile: str, devices: Sequence[str]
    ) -> FileProblem:
        if devices:
            more = f" and {len(devices) - 1} more" if len(devices) > 1 else ""
            of_model = f", {profile}" if profile else ""
            message = f"{message.removesuffix('.')} ({devices[0]}{more}{of_model})"
        return FileProblem(self._path, *where, message, hint)


def _targets(inventory: Inventory, plan: PlanFile, problems: _Problems) -> set[str]:
    names: set[str] = set()
    for pattern, where in zip(plan.targets, plan.targets_at, strict=True):
        names |= _meant(inventory, plan, pattern, where, problems)
    return names


def _meant(inventory: Inventory, plan: PlanFile, pattern: str, where: Place, problems: _Problems) -> set[str]:
    """The devices of one pattern; a list of names is looked for beside the plan."""
    if pattern.startswith("@"):
        pattern = f"@{Path(plan.path).parent / pattern[1:]}"
    try:
        return {device.name for device in select(inventory, [pattern])}
    except UsageProblem as problem:
        problems.add(where, problem.message, problem.hint)
        return set()


def _members(
    inventory: Inventory, plan: PlanFile, step: Step, names: Collection[str], problems: _Problems
) -> Collection[str]:
    """The devices that a step is for; of those that are not the plan's none gets work."""
    if not step.devices or not names:
        return names
    members: set[str] = set()
    for pattern in step.devices:
        meant = _meant(inventory, plan, pattern, step.where, problems)
        if meant and not meant & set(names):
            hint = "Add it to 'targets', or leave it out"
            problems.add(step.where, f"'{pattern}' means none of the plan's devices", hint)
        members |= meant
    return members


def _only(inventory: Inventory, plan: PlanFile, names: set[str], only: Sequence[str]) -> set[str]:
    """The devices of the plan that a person means; whoever types another one is told so, whatever else is typed."""
    if not only:
        return names
    left: set[str] = set()
    problems = []
    for pattern in only:
        try:
            meant = {device.name for device in select(inventory, [pattern])}
        except UsageProblem as problem:
            problems.append(problem)
            continue
        if not meant & names:
            problems.append(UsageProblem(f"{pattern} is none of the devices of the plan {plan.name}"))
        left |= meant & names
    if problems:
        raise together(problems)
    return left


def _choose(
    settings: Settings, inventory: Inventory, plan: PlanFile, wanted: Collection[str], problems: _Problems
) -> list[Chosen]:
    devices = [device for name, device in inventory.devices.items() if name in wanted]
    where = plan.targets_at[0]
    for device in devices:
        if device.profile is None:
            problems.add(where, "the inventory names no profile", "Write one there", device=device.name)
    known = [(device, inventory.defaults) for device in devices if device.profile is not None]
    chosen = _with_profiles(settings, known, where, problems)
    for each in chosen:
        missing = obstacle(each.target)
        if missing is not None:
            name = each.device.name
            message = missing.removeprefix(f"{name}: ")
            problems.add(where, message, None, profile=each.profile.name, device=name)
    return chosen


def _with_profiles(
    settings: Settings, known: Sequence[tuple[Device, Defaults]], where: Place, problems: _Problems
) -> list[Chosen]:
    """The devices with their profiles; where a profile is wrong, or two are one device, those that are left."""
    try:
        return choose_devices(settings, known)
    except UsageProblem as problem:
        problems.add(where, problem.message, problem.hint)
        firsts = {(each[0].url, each[0].unit): each for each in reversed(known)}
        names = {device.name for device, _ in firsts.values()}
        left = [each for each in known if each[0].name in names]
    except FileProblems:
        wrong = _wrong_profiles(settings, {str(device.profile) for device, _ in known}, problems)
        left = [each for each in known if each[0].profile not in wrong]
    return _with_profiles(settings, left, where, problems) if len(left) < len(known) else []


def _wrong_profiles(settings: Settings, names: Collection[str], problems: _Problems) -> set[str]:
    wrong = set()
    for name in sorted(names):
        try:
            load_profile(settings, name)
        except FileProblems as found:
            problems.of_profile(found)
            wrong.add(name)
    return wrong


def _order(
    settings: Settings, chosen: Chosen, step: Step, reason: str | None, problems: _Problems
) -> Operation | None:
    """The operation of a step on a device, not yet named; None where it makes no sense there."""
    profile = chosen.profile
    try:
        call = (
            catalog.call_to_set(profile, *step.setting)
            if step.setting is not None
            else catalog.resolve(profile, step.words or ())
        )
        absolute = call.command.kind is catalog.Kind.ABSOLUTE
        return order_of(settings, chosen, call, policy=step.policy, reason=reason, if_needed=absolute)
    except UsageProblem as problem:
        problems.add(
            step.where, problem.message, problem.hint, profile=profile.name, device=chosen.device.name
        )
        return None


def _named(
    plan: PlanFile, orders: Sequence[tuple[Step, Operation | None]], run: str, key: str, problems: _Problems
) -> tuple[StepWork, ...]:
    """The steps of one device with their ids and keys, where they make sense."""
    given = {step.id: step for step, _ in orders if step.id is not None}
    times: dict[str, int] = {}
    named = []
    for step, operation in orders:
        if operation is None:
            continue
        name = step.id
        if name is None:
            count = times[operation.command] = times.get(operation.command, 0) + 1
            name = operation.command if count == 1 else f"{operation.command} ({count})"
            if name in given:
                message = f"the id '{name}' is what the step in line {step.where[0]} is called by itself"
                problems.add(given[name].where, message, "Give it another one")
        named.append(
            StepWork(name, replace(operation, run=run, step=name, key=step_key(plan.name, key, name)))
        )
    return tuple(named)
