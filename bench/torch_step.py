#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peer of step.c: the same training step in PyTorch on the CPU.

    torch_step.py SIZE THREADS STEPS

Prints the same line of CSV as step.c. Tokens are random and made before the clock starts. AdamW in
its foreach form, GELU in its tanh form; steps.sh says in which environment.
"""
import math
import resource
import statistics
import sys
import time

STARTED = time.perf_counter()

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZES = {  # layers, heads, d_model, T, batch, V; as in bench.h
    "tiny": (2, 4, 64, 32, 32, 16),
    "small": (4, 4, 128, 64, 12, 65),
    "medium": (4, 4, 256, 128, 16, 65),
    "baby": (6, 6, 384, 256, 8, 65),
}
WARMUP = 5


class Block(nn.Module):
    def __init__(self, d, heads, length):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp_in, self.mlp_out = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.register_buffer("hidden", torch.ones(length, length).triu(1).bool())

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2)
                   for z in self.qkv(self.norm1(x)).split(d, 2))
        if hasattr(F, "scaled_dot_product_attention"):  # PyTorch 2
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(d // self.heads))
            y = F.softmax(scores.masked_fill(self.hidden, float("-inf")), -1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, layers, heads, d, length, vocab):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.blocks = nn.ModuleList([Block(d, heads, length) for _ in range(layers)])
        self.norm = nn.LayerNorm(d)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, 0, 0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


def main():
    name, threads, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    layers, heads, d, length, batch, vocab = SIZES[name]
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Model(layers, heads, d, length, vocab)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                                   {"params": vectors, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.99), foreach=True)
    ids = torch.randint(vocab, (batch, length))
    targets = torch.randint(vocab, (batch * length,))
    ms, first = [], 0.0
    for i in range(WARMUP + steps):
        begun = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(ids).flatten(0, 1), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        value = loss.item()
        if i == 0:
            first = time.perf_counter() - STARTED
        if i >= WARMUP:
            ms.append(1e3 * (time.perf_counter() - begun))
    tokens = batch * length
    flops = 6 * (12 * layers * d * d + vocab * d) * tokens + 12 * layers * d * length * tokens
    median = statistics.median(ms)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name},{threads},{median:.4g},{min(ms):.4g},{flops / median / 1e6:.4g},{memory:.4g},"
          f"{first:.3f},{value:.4f}")


if __name__ == "__main__":
    main()
