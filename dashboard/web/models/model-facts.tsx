import type { ReactNode } from 'react';
import type { ModelView } from '#contract/money.ts';
import { Badge, StatusPill } from '../components/values.tsx';
import { capabilityLabel, MODEL_STATES } from './model-labels.ts';

/** The state of a model. Shows nothing if it is available. */
export function ModelState({ of: state }: { readonly of: ModelView['state'] }): ReactNode {
  const { tone, text, means } = MODEL_STATES[state];
  if (state === 'available') return null;
  return (
    <span className="row small">
      <StatusPill tone={tone}>{text}</StatusPill>
      <span className="muted">{means}</span>
    </span>
  );
}

type AbleModel = Pick<ModelView, 'capabilities'> & Partial<Pick<ModelView, 'reasoningEfforts'>>;

export function Abilities({ of: { capabilities, reasoningEfforts = [] } }: { readonly of: AbleModel }): ReactNode {
  if (capabilities.length === 0 && reasoningEfforts.length === 0) return <span className="muted">Text only</span>;
  return (
    <div className="stack">
      <span className="badges">
        {capabilities.map((capability) => (
          <Badge key={capability}>{capabilityLabel(capability)}</Badge>
        ))}
      </span>
      {reasoningEfforts.length > 0 && <span className="muted">Reasoning: {reasoningEfforts.join(', ')}</span>}
    </div>
  );
}
