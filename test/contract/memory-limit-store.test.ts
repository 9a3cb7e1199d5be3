import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { limitStoreContract } from './limit-store.contract.ts';
import { limitStoreProperties } from './limit-store.properties.ts';

limitStoreContract('memory', async ({ leaseMs }) => new MemoryLimitStore({ leaseMs }));
limitStoreProperties('memory', async ({ leaseMs, idleMs }) => new MemoryLimitStore({ leaseMs, idleMs }));
