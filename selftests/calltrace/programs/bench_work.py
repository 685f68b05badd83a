# SPDX-License-Identifier: GPL-2.0
"""What Python does in the benchmark: words are counted, written as JSON and read again."""
import json

counts = {}
for number in range(10000):
    word = f'word {number * 7919 % 501}'
    counts[word] = counts.get(word, 0) + 1
text = json.dumps(counts, sort_keys=True)
print(len(text), len(json.loads(text)), sum(sorted(counts.values())[-5:]))
