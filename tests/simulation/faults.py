"""What befalls hosts and accounts during a night."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from world import Host

from workloop.domain.clock import SECOND_US, Instant
from workloop.driver.scheduling.situation import Halt
from workloop.driver.switches import Orders

if TYPE_CHECKING:
    from night import Night

KINDS = ("kill", "kill", "sleep", "cut", "full", "lose", "skew", "lock", "flap", "drain", "pause")


@dataclass
class Faults:
    """Lets hosts die, sleep and lose their way, and accounts be locked or answer only now and then."""

    night: "Night"
    group: TaskGroup

    async def befall(self, until: float) -> None:
        """Let something happen now and then."""
        chance = self.night.world.chance
        while True:
            await anyio.sleep(chance.uniform(240, 1800))
            if anyio.current_time() > until:
                return
            await self.happen(chance.choice(KINDS), chance.choice(list(self.night.hosts.values())))

    async def happen(self, kind: str, host: Host) -> None:
        """Let one thing happen to a host, or to all."""
        chance, note = self.night.world.chance, self.night.world.note
        note(f"-- {host.name}: {kind}")
        match kind:
            case "kill":
                await self.kill(host)
            case "sleep":
                self.sleep(chance.uniform(60, 9000))
            case "cut":
                host.cut_off(chance.uniform(5, 600))
            case "full":
                host.make_unwritable(chance.uniform(5, 900))
            case "lose":
                host.lost_answers = chance.randint(1, 2)
            case "skew":
                host.skew_us = self.night.skew()
            case "lock":
                self.lock(chance.uniform(0.5, 4))
            case "flap":
                self.flap(chance.uniform(600, 5400))
            case "pause":
                self.group.start_soon(self.pause, host, chance.uniform(60, 1800))
            case _:
                await self.drain(host)

    def sleep(self, seconds: float) -> None:
        """Let all machines sleep."""
        for host in self.night.hosts.values():
            host.trouble(seconds)
        self.night.world.sleep_machine(seconds)

    def lock(self, hours: float) -> None:
        """Let a login lapse for some hours."""
        name = self.night.world.chance.choice(["one", "two"])
        until = Instant(self.night.world.now() + round(hours * 3600 * SECOND_US))
        self.night.stage.account(name).locked_until = until

    def flap(self, seconds: float) -> None:
        """Let a provider answer only now and then."""
        name = self.night.world.chance.choice(["one", "two"])
        until = Instant(self.night.world.now() + round(seconds * SECOND_US))
        self.night.stage.account(name).flaps_until = until

    async def pause(self, host: Host, seconds: float) -> None:
        """Order one loop to leave a target alone for a while."""
        night, target = self.night, self.night.world.chance.choice(list(self.night.backlogs))
        control = night.running.get(host.name)
        if control is None:
            return
        control.take(Orders(pauses={target: Halt(reason="lunch")}))
        night.auditor.paused[host.name, target] = anyio.current_time()
        await anyio.sleep(seconds)
        night.auditor.paused.pop((host.name, target), None)
        control.take(Orders())

    async def kill(self, host: Host) -> None:
        """Kill a host's loop without a word, and start it again some time later."""
        night = self.night
        if night.running.pop(host.name, None) is None:
            return
        night.lives[host.name].dead = True
        night.stage.kill(host.name)
        for target in night.backlogs:
            night.auditor.paused.pop((host.name, target), None)
        seconds = night.world.chance.uniform(1, 1800)
        host.trouble(seconds)
        await anyio.sleep(seconds)
        self.start_again(host)

    async def drain(self, host: Host) -> None:
        """Stop a loop politely and start it again."""
        night = self.night
        if host.name not in night.running:
            return
        night.drain(host.name)
        while host.name in night.running:
            await anyio.sleep(30)
        for target in night.backlogs:
            night.auditor.paused.pop((host.name, target), None)
        self.start_again(host)

    def start_again(self, host: Host) -> None:
        """Start a host's loop, unless the calm that came meanwhile has done so."""
        if host.name not in self.night.running:
            self.night.start(self.group, host)
