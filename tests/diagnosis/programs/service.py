"""A server outside the jobs: to a line with a number of seconds it answers after these, else never.

usage: service.py ADDRESS PORT
"""

import asyncio
import sys


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while line := await reader.readline():
            await asyncio.sleep(float(line))
            writer.write(b"here you are\n")
    except ValueError:
        await asyncio.Event().wait()
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2]))
    print("ready", flush=True)
    await server.serve_forever()


asyncio.run(main())
