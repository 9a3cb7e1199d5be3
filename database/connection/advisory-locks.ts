/** Numbers of all our advisory locks in PostgreSQL. Each database has its own set. */
export const MIGRATION_LOCK = 7_164_001;
export const MEMORY_MODE_LOCK = 7_164_002;
export const PARTITION_LOCK = 7_164_003;
export const CHECKPOINT_LOCK = 7_164_004;
/** Locks for the outbox, by organization, and for checking the conditions of alerts. */
export const OUTBOX_LOCK = 7_164_005;
export const ALERTS_LOCK = 7_164_006;
/** Locks for changes of saved views, by owner. */
export const VIEWS_LOCK = 7_164_007;
