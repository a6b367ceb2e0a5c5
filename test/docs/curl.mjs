// As much of curl as the documents use, so that they can be run on machines that have only Node.
const given = process.argv.slice(2);
const form = [];
const headers = {};
let url;
while (given.length > 0) {
  const word = given.shift();
  if (word === '-s') continue;
  if (word === '-d') form.push(given.shift());
  else if (word === '-u') headers.authorization = `Basic ${Buffer.from(given.shift()).toString('base64')}`;
  else if (word === '-H') {
    const [name, value] = given.shift().split(/: (.*)/s);
    headers[name] = value;
  } else if (word.startsWith('-')) throw new Error(`the documents use ${word}: teach it to this file`);
  else url = word;
}
if (form.length > 0) headers['content-type'] = 'application/x-www-form-urlencoded';
const body = form.length > 0 ? form.join('&') : undefined;
const response = await fetch(url, { method: body ? 'POST' : 'GET', headers, body });
process.stdout.write(await response.text());
