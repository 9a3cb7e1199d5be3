import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { CreatedKeyView } from '#contract/keys.ts';
import type { ModelView } from '#contract/money.ts';
import type { RequestView } from '#contract/request-log.ts';
import documentUrl from '../../../docs/clients.md?url';
import { useAsk } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { CodeSnippet, CopyBox } from '../components/copy.tsx';
import { Banner } from '../components/panels.tsx';
import { SelectField } from '../forms/choices.tsx';
import { FormRow } from '../forms/form.tsx';
import { hasEnded, keyChoice } from '../keys/key-labels.ts';
import { chats, filterModels, modelToTry } from '../models/model-labels.ts';
import { useOrganization } from '../shell/use-organization.tsx';
import { type Client, clientsIn, environment } from './clients.ts';
import { KEY_TO_FILL_IN, MODEL_TO_FILL_IN, snippets } from './snippets.ts';

interface ConnectProps {
  /** A new key with its secret. Absent: the user chooses an existing key, without a secret. */
  readonly created?: CreatedKeyView;
  readonly model?: string | undefined;
  readonly onCopied?: (text: string) => void;
}

/** Base URL, key and code for a client. Shows when the first request arrives. */
export function Connect({ created, onCopied, ...first }: ConnectProps): ReactNode {
  const { apiUrl, apis } = useSession();
  const keys = useAsk('GET /api/organizations/:organization/keys', {}, { enabled: !created }).data?.keys;
  const models = useAsk('GET /api/organizations/:organization/models').data?.models ?? [];
  const usable = (keys ?? []).filter((one) => !hasEnded(one) && one.scopes.includes('chat'));
  const [keyId, setKeyId] = useState('');
  const key = created?.key ?? usable.find(({ id }) => id === keyId);
  const [chosen, setModel] = useState(first.model);
  const usual = modelToTry(models, key ?? {});
  const offered = filterModels(models, {}, key).filter((one) => one.state === 'available' && chats(one));
  const model = offered.find(({ id }) => id === chosen)?.id ?? usual;
  const secret = created?.secret ?? KEY_TO_FILL_IN;
  const reads = key !== undefined && !key.scopes.includes('chat');
  return (
    <div className="parts">
      <CopyBox text={apiUrl} what="base URL" />
      {!reads && (
        <FormRow>
          {!created && (
            <SelectField
              label="Key"
              required
              hint="A key is shown only when it is created."
              value={keyId}
              onChange={setKeyId}
              choices={[{ value: '', label: 'Any key' }, ...usable.map(keyChoice)]}
            />
          )}
          {model !== undefined && (
            <SelectField
              label="Model"
              required
              value={model}
              onChange={setModel}
              choices={offered.map(choiceOfModel)}
            />
          )}
        </FormRow>
      )}
      <Arrival key={key?.id} keyId={key?.id} isNew={created !== undefined} />
      <Code
        settings={{ apiUrl, secret, scopes: reads ? key.scopes : ['chat'], ...(model !== undefined && { model }) }}
        apis={reads ? undefined : apis}
        {...(onCopied && { onCopied })}
      />
    </div>
  );
}

const choiceOfModel = ({ id }: ModelView) => ({ value: id, label: id });

interface CodeProps {
  readonly settings: Parameters<typeof snippets>[0];
  /** Absent: the key can only read, so there are only examples for that. */
  readonly apis: readonly string[] | undefined;
  readonly onCopied?: (text: string) => void;
}

/** The complete example in a language, or settings and code for a client. */
function Code({ settings, apis, ...copying }: CodeProps): ReactNode {
  const { apiUrl, secret, model = MODEL_TO_FILL_IN } = settings;
  const [name, setName] = useState('');
  const { data: documented = [] } = useQuery({ queryKey: [documentUrl], queryFn: readClients, enabled: !!apis });
  const clients = documented.filter(({ needs }) => needs === undefined || apis?.includes(needs));
  const client = clients.find((one) => one.name === name);
  const env = environment(apiUrl, secret, model);
  return (
    <>
      {apis && (
        <SelectField
          label="Client"
          required
          value={client ? name : ''}
          onChange={setName}
          choices={[
            { value: '', label: 'curl, Python, TypeScript' },
            ...clients.map((one) => ({ value: one.name, label: one.name, group: one.group })),
          ]}
        />
      )}
      {client === undefined ? (
        <CodeSnippet snippets={snippets(settings)} {...copying} />
      ) : (
        <>
          {client.note && <p className="muted prose">{client.note}</p>}
          {client.language !== 'sh' && <CodeSnippet snippets={[{ label: 'Environment', code: env }]} {...copying} />}
          <CodeSnippet
            snippets={[{ label: client.name, code: client.language === 'sh' ? `${env}\n${client.code}` : client.code }]}
            {...copying}
          />
        </>
      )}
    </>
  );
}

async function readClients({ signal }: { readonly signal: AbortSignal }): Promise<readonly Client[]> {
  return clientsIn(await (await fetch(documentUrl, { signal })).text());
}

const POLL_MS = 3_000;

interface ArrivalProps {
  readonly keyId: string | undefined;
  /** True if the key has had no request yet. */
  readonly isNew: boolean;
}

/** Waits for the next request, while the page is visible. */
function Arrival({ keyId, isNew }: ArrivalProps): ReactNode {
  const { suspended } = useOrganization();
  const [knownId, setKnownId] = useState(isNew ? '' : undefined);
  const [arrived, setArrived] = useState<RequestView>();
  const { data, isFetchedAfterMount } = useAsk(
    'GET /api/organizations/:organization/requests',
    { query: keyId === undefined ? {} : { keys: [keyId] } },
    { refreshMs: POLL_MS, enabled: arrived === undefined },
  );
  useEffect(() => {
    if (data === undefined || !isFetchedAfterMount) return;
    const [newest] = data.requests;
    if (knownId === undefined) setKnownId(newest?.id ?? '');
    else if (newest !== undefined && newest.id !== knownId) setArrived(newest);
  }, [data, isFetchedAfterMount, knownId]);
  if (suspended) return null;
  if (arrived === undefined) {
    // A request that arrives before the newest one is known would be missed.
    const waiting = `Waiting for ${keyId === undefined ? 'a' : "this key's"} request`;
    return <Banner tone="neutral">{knownId !== undefined && waiting}…</Banner>;
  }
  const { id, code, status, keyName } = arrived;
  const action = (
    <Link from="/o/$organization" to="/o/$organization/requests" search={{ open: id }}>
      Show the request
    </Link>
  );
  return code === undefined ? (
    <Banner tone="good" title="Connected" action={action}>
      A request with {keyName} has arrived.
    </Banner>
  ) : (
    <Banner tone="warn" title="A request arrived but failed" action={action}>
      {status} {code}, with {keyName}.
    </Banner>
  );
}
