"""What every device has in common: names, memory, roofs and the policies that choose among calibrations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

from pydantic import Field, StrictStr, model_validator

from tilesearch.errors import InputError, Issue, UnknownLimitError, suggest
from tilesearch.specs.devices.links import Link
from tilesearch.specs.devices.policies import BUILT_IN_POLICIES, Effective, check_policies, choose
from tilesearch.specs.devices.quantities import Bytes, BytesPerSecond, Hertz, Spec
from tilesearch.specs.devices.roofs import Bandwidth, DTypeName, Name, Roof, RoofName, split_roof_name
from tilesearch.specs.devices.times import TimeConstant, TimeError
from tilesearch.specs.dtypes import DType, dtype
from tilesearch.specs.validation import Fault, dotted, faults


class Device(Spec):
    """A device: its limits and its rates, each number with a source. The vendors' devices derive from it.

    A device with `limits_only` stands for all devices of one architecture: what differs between its products
    is unknown.
    """

    PRODUCT_FACTS: ClassVar[tuple[str, ...]] = ("l2_bytes", "hbm_bytes", "interconnect")

    name: Name
    vendor: str
    aliases: tuple[Name, ...] = ()
    inherits: StrictStr | None = None
    limits_only: bool = False
    note: StrictStr = ""

    l2_bytes: Bytes
    hbm_bytes: Bytes
    bandwidth: Bandwidth
    interconnect: BytesPerSecond
    link: Link | None = None
    roofs: dict[RoofName, Roof] = Field(default_factory=dict)
    unsupported_tensor_dtypes: tuple[DTypeName, ...] = ()
    policies: dict[Name, dict[Name, StrictStr]] = Field(default_factory=dict)
    clocks: dict[Name, Hertz] = Field(default_factory=dict)
    time: dict[Name, TimeConstant] = Field(default_factory=dict)
    time_errors: dict[StrictStr, TimeError] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        found = list(self._faults())
        if found:
            raise faults(found)
        return self

    def _faults(self) -> Iterator[Fault]:
        """What does not agree between keys; the vendors' devices add their own."""
        yield from check_policies(self.policies, {"bandwidth": self.bandwidth, **self.roofs})
        both, one = self.interconnect.value, None if self.link is None else self.link.bandwidth.value
        if both is not None and one is not None and 2 * one != both:
            yield Fault(f"one direction is half of the interconnect, {both:g} B/s", key="link.bandwidth")
        for name, roof in self.roofs.items():
            accumulator = split_roof_name(name)[1]
            if accumulator is not None and roof.acc not in (None, accumulator):
                key = dotted("roofs", name, "acc")
                yield Fault(f"acc is {roof.acc!r}, but the name says {accumulator!r}", key=key)

    def supports(self, kind: str | DType) -> bool:
        """Whether the matrix units take inputs of this data type, as far as the data say."""
        return dtype(kind).name not in self.unsupported_tensor_dtypes

    def policy_names(self) -> list[str]:
        """The policies that may be asked of this device."""
        return [*BUILT_IN_POLICIES, *(name for name in self.policies if name not in BUILT_IN_POLICIES)]

    def roof(self, name: str, acc: str | None = None) -> Roof:
        """The roof called `name`, such as ``tensor_core.fp16``; with `acc`, the one of that accumulator.

        Where the file has no roof for `acc` it is the roof of the accumulator that the file has;
        `effective_roof` says so in its note. Raises `InputError` for a roof that the file does not have or
        whose data type the matrix units do not support.
        """
        return self.roofs[self._find_roof(name, acc)[0]]

    def effective_roof(self, name: str, policy: str, acc: str | None = None) -> Effective:
        """The rate of a roof in FLOP/s under a policy.

        Raises `InputError` for an unknown roof, policy or calibration, and `UnknownLimitError` where the file
        says that the rate is unknown.
        """
        key, note = self._find_roof(name, acc)
        return self._effective(key, self.roofs[key], policy, note)

    def effective_bandwidth(self, policy: str, read_share: float | None = None) -> Effective:
        """The bandwidth of main memory in B/s under a policy; raises as `effective_roof` does.

        `read_share` is the share of reads in the bytes that an operator moves: given it, ``predict`` takes
        the calibration whose mix is nearest.
        """
        return self._effective("bandwidth", self.bandwidth, policy, read_share=read_share)

    def _effective(
        self, name: str, entry: Roof | Bandwidth, policy: str, note: str = "", read_share: float | None = None
    ) -> Effective:
        if policy not in self.policy_names():
            hint = suggest(policy, self.policy_names())
            raise InputError(Issue(f"{self.name} has no policy {policy!r}", "model.roofs", hint=hint))
        choices = self.policies.get(policy, {})
        fixed = choices.get(name)
        if fixed is None and policy not in BUILT_IN_POLICIES:
            named = ", ".join(choices)
            message = f"policy {policy!r} of {self.name} names no calibration for {name}; it names {named}"
            raise InputError(Issue(message, "model.roofs"))
        if policy == "predict" and name == "bandwidth" and read_share is not None:
            fixed = None
        try:
            return choose(name, entry, policy, fixed, read_share, note)
        except ValueError as error:
            raise UnknownLimitError(f"{self.name}: {error}") from None

    def _find_roof(self, name: str, acc: str | None) -> tuple[str, str]:
        """The key of a roof in `roofs`, and a note if its accumulator is not the one that was asked for."""
        base, in_name = split_roof_name(name)
        accumulator = in_name if acc is None else dtype(acc).name
        keyed = f"{base}@{accumulator}"
        if accumulator is not None and keyed in self.roofs:
            return keyed, ""
        if base in self.roofs:
            own = self.roofs[base].acc
            if accumulator is None or own is None or own == accumulator:
                return base, ""
            return base, f"no peak is given for accumulation in {accumulator}: that of {own} is used"
        unit, _, kind = base.partition(".")
        if unit == "tensor_core" and any(dtype(t).roof_name == kind for t in self.unsupported_tensor_dtypes):
            raise InputError(f"{self.name} does not support {kind} in its matrix units")
        if not self.roofs:
            raise InputError(f"{self.name} has no roofs: only the limits of its architecture are known")
        raise InputError(Issue(f"{self.name} has no roof {base!r}", hint=f"it has {', '.join(self.roofs)}"))
