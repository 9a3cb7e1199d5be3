import { KeptMessages } from '../reasoning/kept-messages.ts';
import type { ReasoningStoreOptions } from '../reasoning/memory-reasoning-store.ts';
import type { ReasoningStore } from '../reasoning/reasoning-store.ts';
import { reasoningKey } from './redis-keys.ts';
import type { ScriptCalls } from './script-calls.ts';

/** Length of this many bytes in base64. */
const textBytes = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/**
 * Keeps reasoning for several processes, with the rights and in the hash slots of the limits. Each
 * process bounds what it has written itself and deletes what it evicts. So Redis keeps at most the
 * bounds times the number of processes, without a list that all of them would have to share.
 * Messages of a process that has ended expire.
 */
export function createRedisReasoningStore(
  connection: ScriptCalls,
  { bounds, clock, onEvicted }: ReasoningStoreOptions,
): ReasoningStore {
  const written = new KeptMessages<undefined>(bounds);

  async function keepText(organizationId: string, name: string, text: string): Promise<'kept' | 'full'> {
    const args = [text, bounds.expiresAfterMs];
    const reply = await connection.run('keepReasoning', [reasoningKey(organizationId, name)], args);
    const result = reply === 'full' ? 'full' : 'kept';
    const bytes = reply === 'kept' ? text.length : 0;
    const evicted = written.add({ organizationId, name, value: undefined, bytes }, clock.monotonicMs());
    if (evicted.length === 0) return result;
    onEvicted(evicted.length);
    const byOrganization = Map.groupBy(evicted, (message) => message.organizationId);
    const calls = [...byOrganization].map(([id, messages]) => {
      const keys = messages.map((message) => reasoningKey(id, message.name));
      return connection.run('forgetReasoning', keys, []);
    });
    await Promise.all(calls);
    return result;
  }

  return {
    async keep({ organizationId, name, sealed }) {
      if (sealed.length <= bounds.messageBytes) return keepText(organizationId, name, sealed.toString('base64'));
      await keepText(organizationId, name, '');
      return 'full';
    },
    async find(organizationId, names, mostBytes) {
      const keys = names.map((name) => reasoningKey(organizationId, name));
      const texts = (await connection.run('findReasoning', keys, [textBytes(mostBytes)])) as string[];
      return texts.map((text) => (text === '' ? undefined : Buffer.from(text, 'base64')));
    },
    heldBytes: () => written.bytes,
    close: () => written.clear(),
  };
}
