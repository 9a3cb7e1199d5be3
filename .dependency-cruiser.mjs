// The rules of imports: their order is written in test/architecture/import-order.ts.
// `npm run imports` checks them.
export { CONFIGURATION as default } from './test/architecture/import-rules.ts';
