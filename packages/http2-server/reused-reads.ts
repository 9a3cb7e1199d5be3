import { Socket } from 'node:net';
import { type BorrowedBytes, lend } from './borrowed-bytes.ts';

/** Major versions of Node that pass reused-reads.test.ts. Others read sockets the ordinary way. */
const TESTED_NODE_MAJORS: readonly string[] = ['24'];

/**
 * Replaces a connection that a server has accepted and paused (`pauseOnConnect`) by a socket that
 * always reads into `buffer`. Node otherwise allocates 64 KiB outside the heap for each read, and
 * each 64 MB of those cost a full garbage collection. `net.connect` has the option `onread` for
 * this. A server's connection needs a second socket around the same handle, like the one that Node
 * makes when a connection moves to another process. `handle` and `_handle` are as old as Node but
 * undocumented, hence the list of versions. On other versions the accepted socket is returned and
 * read like any other, which is only slower.
 */
export function withReusedReads(
  accepted: Socket,
  buffer: Buffer,
  onRead: (bytes: BorrowedBytes, length: number) => void,
  nodeVersion: string = process.versions.node,
): Socket {
  const handle = TESTED_NODE_MAJORS.includes(nodeVersion.split('.')[0] ?? '') ? handleOf(accepted) : undefined;
  if (!handle) return readAsUsual(accepted, onRead);
  const bytes = lend(buffer);
  const callback = (length: number): boolean => {
    onRead(bytes, length);
    return true;
  };
  const socket = new Socket({ handle, onread: { buffer, callback } } as ConstructorParameters<typeof Socket>[0]);
  if (handleOf(socket) !== handle) return readAsUsual(accepted, onRead);
  (accepted as unknown as WithHandle)._handle = null;
  // Only the server still refers to the accepted socket, and counts it.
  accepted.destroy();
  return socket;
}

function readAsUsual(accepted: Socket, onRead: (bytes: BorrowedBytes, length: number) => void): Socket {
  return accepted.on('data', (bytes) => onRead(lend(bytes), bytes.length)).resume();
}

interface WithHandle {
  _handle?: object | null;
}

function handleOf(socket: Socket): object | null | undefined {
  return (socket as unknown as WithHandle)._handle;
}
