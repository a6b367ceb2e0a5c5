import type { Incident, Presentation } from '../store/incidents.ts';
import { applicationHead } from './application-tabs.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { duration, emptyState, exactMoment, notice } from './parts.ts';

type Diagnosis = { readonly summary: string; readonly fix: string };
type Props = { readonly frame: Frame; readonly clientId: string; readonly name: string };

const TITLES: Record<Incident['kind'], string> = {
  refresh_token_reuse: 'A refresh token was used twice',
  code_replay: 'A code was used twice',
};

/** Grants that were revoked because a credential was presented twice. */
export function incidentsPage(
  props: Props & { readonly incidents: readonly (Incident & { readonly diagnosis: Diagnosis })[] },
): Html {
  const { frame, clientId, incidents } = props;
  const item = ({ id, at, kind, diagnosis }: (typeof incidents)[number]) => html`<li class="stack tight">
<h2><a href="/dashboard/apps/${clientId}/incidents/${id}">${TITLES[kind]}</a></h2>
<p>${diagnosis.summary}</p>
<p class="small muted">${exactMoment(at)}</p>
</li>
`;
  return shellLayout(
    `Incidents of ${props.name}`,
    'dashboard',
    frame,
    html`${applicationHead(props, 'incidents', 'Incidents')}
<p class="muted">When a code or refresh token comes twice, somebody else may have a copy: the session is cut, and here is what is known of it.</p>
<section class="panel">${
      incidents.length === 0
        ? emptyState(
            'No incidents',
            'In the last 30 days no session of this application had to be cut. You would have got a mail.',
          )
        : html`<ul class="list">\n${incidents.map(item)}</ul>`
    }</section>`,
  );
}

type IncidentProps = Props & {
  readonly incident: Incident;
  readonly timeline: readonly (Presentation & { readonly title: string })[];
  readonly diagnosis: Diagnosis;
};

export function incidentPage(props: IncidentProps): Html {
  const { frame, clientId, incident, timeline, diagnosis } = props;
  const title = TITLES[incident.kind];
  return shellLayout(
    title,
    'dashboard',
    frame,
    html`${applicationHead(props, 'incidents', title, [[`/dashboard/apps/${clientId}/incidents`, 'Incidents']])}
${notice('warning', diagnosis.summary)}
<section class="panel" aria-labelledby="cure">
<header><h2 id="cure">What helps</h2></header>
<div class="body stack"><p>${diagnosis.fix}</p>
<p>The tokens of this session cannot be repaired: send its user through authorization again. The user was told as well, under their recent activity.</p></div>
</section>
<section class="panel" aria-labelledby="timeline">
<header><h2 id="timeline">Every use of this session <code>…${incident.grantTail}</code></h2></header>
<ol class="list compact">
${timeline.map((one, index) => presentation(incident, one, timeline[index - 1]))}</ol>
</section>`,
  );
}

function presentation(
  { id, generation }: Incident,
  use: IncidentProps['timeline'][number],
  before: Presentation | undefined,
): Html {
  const gap = before && html`<strong>${duration(use.at - before.at)} later</strong>`;
  const revoked = use.id === id && html`<span class="badge danger">Cut</span>`;
  const shown = use.endpoint !== 'authorize';
  const twice = shown && use.generation === generation && html`<span class="badge warning">Came twice</span>`;
  const credential = use.generation === 0 ? 'the code' : `refresh token ${use.generation}`;
  const what = use.reason === 'by_another_application' ? 'Another application presented it' : use.title;
  return html`<li class="stack tight">
<div class="row"><span>${what}</span>${twice}${revoked}</div>
<div class="row tight small muted">${exactMoment(use.at)}${gap}${shown && html`<span>${credential}</span>`}<span>${use.address}</span><span>${use.userAgent}</span></div>
</li>
`;
}
