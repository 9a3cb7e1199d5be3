import { setTimeout as sleep } from 'node:timers/promises';
import { startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { freePorts } from '../launchers/free-ports.ts';

const FORM_MS = 20_000;

export interface ClusterNodesOptions {
  /** Further arguments for each node. */
  readonly settings?: (index: number) => readonly string[];
  /** The port between nodes, if it is not the clients' port without TLS. */
  readonly meetPort?: number;
}

/** Two masters with half of the slots each. */
export async function startClusterNodes({ settings, meetPort }: ClusterNodesOptions = {}): Promise<TestRedis[]> {
  const busPorts = await freePorts(2);
  const nodes: TestRedis[] = [];
  for (const [index, bus] of busPorts.entries()) {
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', String(bus)];
    nodes.push(await startTestRedis({ settings: [...cluster, ...(settings?.(index) ?? [])] }));
  }
  const [first, second] = nodes as [TestRedis, TestRedis];
  await first.admin.call('CLUSTER', 'ADDSLOTSRANGE', 0, 8191);
  await second.admin.call('CLUSTER', 'ADDSLOTSRANGE', 8192, 16_383);
  // Both begin with epoch 0, and would first have to resolve that conflict.
  await second.admin.call('CLUSTER', 'SET-CONFIG-EPOCH', 2);
  await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', meetPort ?? second.port, busPorts[1] ?? 0);
  const deadline = performance.now() + FORM_MS;
  for (const { admin } of nodes) {
    while (!String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
      if (performance.now() > deadline) throw new Error('the cluster did not form in time');
      await sleep(50);
    }
  }
  return nodes;
}

export async function emptyNodes(nodes: readonly TestRedis[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.empty()));
}

/** A slot that moves between nodes, in the steps of `redis-cli --cluster reshard`. */
export interface MovingSlot {
  /** Moves the keys whose names end with `nameEnd`, by default all. */
  moveKeys(nameEnd?: string): Promise<void>;
  /** Tells both nodes that the slot has moved. */
  end(): Promise<void>;
}

/** Begins the move. From now on the old node redirects calls for keys that it does not have. */
export async function beginMoving(slot: number, from: TestRedis, to: TestRedis): Promise<MovingSlot> {
  const idOf = ({ admin }: TestRedis) => admin.call('CLUSTER', 'MYID').then(String);
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  return {
    async moveKeys(nameEnd = '') {
      const all = (await from.admin.call('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as string[];
      const keys = all.filter((key) => key.endsWith(nameEnd));
      if (keys.length > 0) await from.admin.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
    },
    async end() {
      for (const { admin } of [to, from]) await admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
    },
  };
}
