"""`python -m tests.hosts.relay ADDRESS PORT=SOCKET…`: joins TCP ports to the Unix sockets of
servers.

Lines on standard input say what it does to the connections of a client, by its address:
`10.77.0.11 delay 0.05` sends each piece that much later, `stall` keeps all that comes until
`resume`, and `cut` resets the client's connections. It ends with its input.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections import defaultdict
from dataclasses import dataclass, field

PIECE = 64 * 1024
#: SO_LINGER with no time: the connection is reset when it is closed
RESET = struct.pack("ii", 1, 0)


@dataclass
class Client:
    """The treatment of the connections of one address."""

    delay: float = 0.0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.open.set()

    def do(self, order: str, *values: str) -> None:
        match order:
            case "delay":
                self.delay = float(values[0])
            case "stall":
                self.open.clear()
            case "resume":
                self.open.set()
            case "cut":
                for writer in self.connections:
                    plug = writer.get_extra_info("socket")
                    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    writer.close()


async def main(address: str, *joins: str) -> None:
    clients: dict[str, Client] = defaultdict(Client)
    for join in joins:
        port, _, path = join.partition("=")
        await asyncio.start_server(_joiner(path, clients), address, int(port))
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    print("ready", flush=True)
    async for line in orders:
        client, *order = line.decode().split()
        clients[client].do(*order)


def _joiner(path: str, clients: dict[str, Client]):
    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = clients[writer.get_extra_info("peername")[0]]
        client.connections.add(writer)
        try:
            await client.open.wait()
            # the server may be down: the client's connection ends, too
            from_server, to_server = await asyncio.open_unix_connection(path)
            ways = [
                asyncio.create_task(_carry(client, *way))
                for way in ((reader, to_server), (from_server, writer))
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            to_server.close()
        except OSError:
            pass  # the server or the client has ended
        finally:
            client.connections.discard(writer)
            writer.close()

    return join


async def _carry(client: Client, reader: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(PIECE):
            if client.delay:
                await asyncio.sleep(client.delay)
            await client.open.wait()
            to.write(piece)
            await to.drain()
    except OSError:
        pass  # one of the two has ended


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
