import type { TokenEndpointResponse, UserInfoResponse } from 'openid-client';

const STYLE = `
body { font: 17px/1.5 system-ui, sans-serif; max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem; color-scheme: light dark }
button { font: inherit; padding: .5rem 1rem; cursor: pointer }
dt { opacity: .7 } dd { margin: 0 0 .6rem }
form { display: inline-block; margin-right: .5rem }
.hint { border-left: 3px solid; padding-left: .8rem; opacity: .8 }`;

const escapeHtml = (text: unknown): string =>
  String(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function layout(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Example application</title>
<style>${STYLE}</style>
<h1>${escapeHtml(title)}</h1>
${body}
</html>
`;
}

const button = (action: string, label: string): string =>
  `<form method="post" action="${action}"><button>${label}</button></form>`;

export function welcomePage(): string {
  return layout(
    'Example application',
    `<p>This application stores no passwords. It signs you in with Postern.</p>
${button('/login', 'Sign in with Postern')}
<p class="hint">The button takes you to Postern, a separate site. There you sign in and decide what this
application can access.</p>`,
  );
}

/** Shows the claims, but only the last four characters of the access token. */
export function connectedPage(
  profile: UserInfoResponse,
  tokens: TokenEndpointResponse,
  refreshes: number,
): string {
  const claims = Object.entries(profile)
    .map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`)
    .join('\n');
  const times = refreshes === 1 ? 'once' : `${refreshes} times`;
  return layout(
    `Hello, ${profile.name ?? 'there'}`,
    `<p>You allowed this application to read:</p>
<dl>
${claims}
</dl>
<p>The access token ends in <code>${escapeHtml(tokens.access_token.slice(-4))}</code> and was issued for
${escapeHtml(tokens.expires_in)} seconds. It was refreshed ${times}.</p>
${button('/refresh', 'Refresh token')}
${button('/logout', 'Sign out')}
<p class="hint">Refreshing consumes the refresh token and returns a new one. Signing out revokes both tokens.</p>`,
  );
}

export function messagePage(title: string, text: string): string {
  return layout(title, `<p>${escapeHtml(text)}</p>\n<p><a href="/">Back to the start page</a></p>`);
}
