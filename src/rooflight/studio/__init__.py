"""The studio: a web page over the library, and the API it is made of. Loopback by default; nothing is fetched.

app         the FastAPI application and how it is served
api         its routes: a question in, the library's answer out
answers     what each route's question is answered with, as bytes
workers     the processes that compute answers, and how long they may
guard       what a request may send, and from which page; address: which addresses are this machine's own
serve       connections, and how long they may idle
dropped     recorded files that come with a request, and what is said of them
question    what may be asked, with bounds; names looked up in the catalog only
picture     everything one picture of the page needs, in one answer
state       a question as a short query string, and back
presets     questions to start from, as data
commands    the same question as a command line
explain     why an operator lands where it does, the arithmetic written out
"""
