# SPDX-License-Identifier: Apache-2.0
"""Prints the results of a unittest file as TAP, for tools/run-tests."""
import sys
import unittest


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0

    def say(self, verdict, test, more=''):
        self.number += 1
        print(f'{verdict} {self.number} - {test.id().rsplit(".", 1)[1]}{more}', flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say('ok', test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say('ok', test, f' # SKIP {reason}')

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say('not ok', test)
        print(''.join(f'# {line}\n' for line in self.failures[-1][1].splitlines()))

    def addError(self, test, err):
        super().addError(test, err)
        self.say('not ok', test)
        print(''.join(f'# {line}\n' for line in self.errors[-1][1].splitlines()))


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    result = Result()
    print(f'1..{suite.countTestCases()}')
    suite.run(result)
    sys.exit(not result.wasSuccessful())
