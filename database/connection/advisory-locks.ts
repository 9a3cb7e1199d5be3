/** PostgreSQL's advisory locks are numbers, one space for each database: all of ours stand here. */
export const MIGRATION_LOCK = 7_164_001;
export const MEMORY_MODE_LOCK = 7_164_002;
/** Lock for making and dropping partitions. */
export const PARTITION_LOCK = 7_164_003;
/** Lock for writing checkpoints of the ledger. */
export const CHECKPOINT_LOCK = 7_164_004;
