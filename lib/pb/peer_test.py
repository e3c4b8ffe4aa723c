#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: peer_test.py CONVERT PROTOSET

Messages are built by protobuf's own library and turned into JSON by ours; its reading of them must
be the same. And the way back: from its JSON to our bytes.
"""
import json
import subprocess
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

CONVERT, PROTOSET = sys.argv[1:3] if len(sys.argv) > 2 else sys.exit(__doc__)

SCALARS = [
    {},
    dict(a_int32=-2**31, a_sint32=-2**31, a_sfixed32=-2**31, a_int64=-2**63, a_sint64=-2**63,
         a_sfixed64=-2**63, a_uint32=2**32 - 1, a_fixed32=2**32 - 1, a_uint64=2**64 - 1,
         a_fixed64=2**64 - 1, a_float=3.4e38, a_double=1.7976931348623157e308,
         a_bool=True, a_colour=-3, a_string='grün € 😀 "\\\n\x01\x7f\u2028', a_bytes=bytes(range(256))),
    dict(a_int32=2**31 - 1, a_int64=2**63 - 1, a_float=float('inf'), a_double=float('nan'),
         a_colour=7, a_bytes=b'\xff'),
    dict(a_float=0.1, a_double=0.1, a_bytes=b'ab'),
    dict(a_float=1e-45, a_double=5e-324, a_string='\uffff'),
    dict(a_float=16777216, a_double=2**53 + 2, a_colour=99),
]

MESSAGES = [('Scalars', s) for s in SCALARS] + [
    ('Lists', dict(int32s=[0, -1, 2**31 - 1], sint64s=[-2**63], fixed64s=[2**64 - 1, 0],
                   floats=[0.5, float('-inf')], doubles=[1e300, -1e-300], bools=[True, False],
                   colours=[0, 1, 7, -3, 5], strings=['', 'ü'], byteses=[b'', b'\0'], scalars=SCALARS)),
    ('Maps', dict(by_name={'b': '1', '': '€', 'a"': '3'}, numbers={-5: -2**63, 7: 0},
                  messages={2**64 - 1: SCALARS[1], 0: {}}, colours={True: 1, False: 0},
                  pairs=[dict(key='k', value='v'), dict(key='k', value='w')])),
    ('Choice', {}),
    ('Choice', dict(number=0, real=0)),
    ('Choice', dict(before='x', scalars=SCALARS[3])),
    ('Choice', dict(blob=b'\xfb\xff')),
    ('Tree', dict(name='root', left=dict(right=dict(name='leaf')), children=[{}, dict(children=[{}])],
                  choice=dict(text=''), maps=dict(by_name={'x': 'y'}))),
]


def message_types():
    with open(PROTOSET, 'rb') as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for each in files.file:
        pool.Add(each)
    factory = message_factory.MessageFactory(pool)
    return lambda name: factory.GetPrototype(pool.FindMessageTypeByName('pbtest.' + name))


def build(find, name, fields):
    """A map of messages cannot be given to the constructor."""
    inner = fields.pop('messages', {})
    message = find(name)(**fields)
    for key, value in inner.items():
        message.messages[key].MergeFrom(find('Scalars')(**value))
    return message


def convert(name, kind, data):
    run = subprocess.run([CONVERT, name, kind], input=data, capture_output=True, check=False)
    if run.returncode:
        sys.exit(f'{name} from {kind}: {run.stderr.decode()}\n{data!r}')
    return run.stdout


def rounded(value):
    """1.0 and 1 are the same number."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def check(message, name):
    theirs = json_format.MessageToDict(message, preserving_proto_field_name=True,
                                       including_default_value_fields=True)
    ours = json.loads(convert(name, 'bytes', message.SerializeToString()))
    if rounded(ours) != rounded(theirs):
        sys.exit(f'{name}\n  ours:   {ours}\n  theirs: {theirs}')
    for camel in (False, True):
        text = json_format.MessageToJson(message, preserving_proto_field_name=not camel)
        back = type(message).FromString(convert(name, 'json', text.encode()))
        if json_format.MessageToDict(back) != json_format.MessageToDict(message):
            sys.exit(f'{name} from {text}\n  is {back}')
    ours = type(message)()
    json_format.Parse(convert(name, 'bytes', message.SerializeToString()), ours)
    if json_format.MessageToDict(ours) != json_format.MessageToDict(message):
        sys.exit(f'{name}: our JSON is read as {ours}')


def main():
    find = message_types()
    print(f'1..{len(MESSAGES)}')
    for number, (name, fields) in enumerate(MESSAGES, 1):
        check(build(find, name, dict(fields)), name)
        print(f'ok {number} - {name}_{number}_is_the_same_in_both')


if __name__ == '__main__':
    main()
