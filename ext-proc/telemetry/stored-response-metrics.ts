import { Counter, Gauge, type Registry } from 'prom-client';

/** Stored responses of Idempotency-Keys. */
export interface StoredResponseMetrics {
  /** Responses were evicted, because their organization has stored more than its bound. */
  storedResponsesEvicted(responses: number): void;
  /** Bytes that all organizations have stored now, in all processes. */
  responseBytesStored(bytes: number): void;
}

export function createStoredResponseMetrics(registers: Registry[]): StoredResponseMetrics {
  const evicted = new Counter({
    name: 'gateway_idempotency_answers_evicted_total',
    help: 'Stored responses deleted early, because their organization was above idempotency.bytes_per_organization.',
    registers,
  });
  const stored = new Gauge({
    name: 'gateway_idempotency_answers_stored_bytes',
    help: 'Stored responses of all organizations and processes in the database.',
    registers,
  });
  return {
    storedResponsesEvicted: (responses) => evicted.inc(responses),
    responseBytesStored: (bytes) => stored.set(bytes),
  };
}
