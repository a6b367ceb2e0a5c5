import type { TokenEndpointResponse, UserInfoResponse } from 'openid-client';

const STYLE = `
body { font: 17px/1.5 system-ui, sans-serif; max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem; color-scheme: light dark }
button { font: inherit; padding: .5rem 1rem; cursor: pointer }
dt { opacity: .7 } dd { margin: 0 0 .6rem }
form { display: inline-block; margin-right: .5rem }
.hint { border-left: 3px solid; padding-left: .8rem; opacity: .8 }`;

const escaped = (text: unknown): string =>
  String(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function layout(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Example application</title>
<style>${STYLE}</style>
<h1>${escaped(title)}</h1>
${body}
</html>
`;
}

const button = (action: string, label: string): string =>
  `<form method="post" action="${action}"><button>${label}</button></form>`;

export function welcomePage(): string {
  return layout(
    'An application that is not Postern',
    `<p>It has no passwords of its own: it asks Postern who you are.</p>
${button('/login', 'Sign in with Postern')}
<p class="hint">The button takes you to Postern, another site with its own cookies. There you sign in and decide
what this application may know.</p>`,
  );
}

/** Everything the application has learned, and nothing it should keep to itself: tokens are shown by their end alone. */
export function connectedPage(
  profile: UserInfoResponse,
  tokens: TokenEndpointResponse,
  refreshes: number,
): string {
  const claims = Object.entries(profile)
    .map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`)
    .join('\n');
  const times = refreshes === 1 ? 'once' : `${refreshes} times`;
  return layout(
    `Hello, ${profile.name ?? 'stranger'}`,
    `<p>This is what Postern told this application about you, because you allowed it:</p>
<dl>
${claims}
</dl>
<p>The access token ends in <code>${escaped(tokens.access_token.slice(-4))}</code> and is good for
${escaped(tokens.expires_in)} seconds. It was renewed ${times}.</p>
${button('/refresh', 'Renew it')}
${button('/logout', 'Sign out')}
<p class="hint">Renewing uses up the refresh token and brings a new one. Signing out revokes both tokens at Postern.</p>`,
  );
}

export function messagePage(title: string, text: string): string {
  return layout(title, `<p>${escaped(text)}</p>\n<p><a href="/">Back to the beginning</a></p>`);
}
