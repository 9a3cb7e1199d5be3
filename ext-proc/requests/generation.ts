import { isRefusal, refuse } from '#core/errors/refusal.ts';
import { isGenerationId } from '#core/id-form.ts';
import { usdNumber } from '#core/money.ts';
import type { Generation } from '#database/ledger/ledger.ts';
import type { Shipper } from '../billing/shipper.ts';
import type { LedgerReads } from '../fairness/reads-in-turns.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';
import { readQuery } from './query.ts';
import { tokenFigures } from './token-figures.ts';

/** What reads of settled requests need. */
export interface SettledDeps {
  readonly ledger: LedgerReads;
  readonly accounting: { readonly shipper: Pick<Shipper, 'shipOf'> };
}

/** `GET /v1/generation?id=`: one settled request of the caller's organization. */
export async function showGeneration(
  request: AuthorizedRequest,
  { ledger, accounting }: SettledDeps,
): Promise<EndpointResult> {
  const query = readQuery(request.route.query, ['id']);
  if (isRefusal(query)) return query;
  const { id } = query.values;
  if (id === undefined || id === '') return refuse('invalid_request', { problem: 'id is required.' }, { param: 'id' });
  if (!isGenerationId(id)) return refuse('generation_not_found');
  const limited = await request.takeRead();
  if (limited) return limited;
  const organizationId = request.principal.organization.id;
  await accounting.shipper.shipOf(organizationId);
  const generation = await ledger.findGeneration(organizationId, id);
  if (generation === undefined) return refuse('generation_not_found');
  return { kind: 'json', body: { data: generationRecord(generation, request.config.apis.size > 0) } };
}

function generationRecord(generation: Generation, hasDoors: boolean) {
  return {
    id: generation.generationId,
    ...(hasDoors ? { api: generation.api ?? 'chat' } : {}),
    model: generation.model,
    provider_name: generation.provider,
    created_at: new Date(generation.createdAtMs).toISOString(),
    streamed: generation.streamed,
    cancelled: generation.cancelled,
    finish_reason: generation.finishReason ?? null,
    service_tier: generation.serviceTier ?? null,
    ...tokenFigures(generation.usage),
    total_cost: usdNumber(generation.costNanoUsd),
    latency: generation.firstEventMs,
    generation_time: generation.generationTimeMs,
    api_key_id: generation.keyId,
    upstream_id: generation.upstreamId ?? null,
  };
}
