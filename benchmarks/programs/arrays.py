"""Reference programs over arrays, where the place of an access depends on values read.

Every shared cell is an `Atomic`; every call of one of its methods is one event.
"""

import threading

import dpor

INODES = 32
BLOCKS = 26
TABLE_SIZE = 128


@dpor.model
def lastzero(n: int = 5):
    """A chain of `n` writers and a reader that seeks the last zero (POPL'14): (n + 3) 2^(n - 2) classes."""
    cells = [dpor.Atomic(0) for _ in range(n + 1)]

    def find_last_zero():
        i = n
        while cells[i].load() != 0:
            i -= 1

    def write(j):
        cells[j].store(cells[j - 1].load() + 1)

    dpor.spawn(find_last_zero)
    for j in range(1, n + 1):
        dpor.spawn(write, j)


@dpor.model
def filesystem(n: int = 14):
    """`n` threads give a block to an inode each (Flanagan, Godefroid 2005): 2^(n - 13) for 13 <= n <= 26."""
    inodes = [dpor.Atomic(0) for _ in range(INODES)]
    inode_locks = [threading.Lock() for _ in range(INODES)]
    busy = [dpor.Atomic(0) for _ in range(BLOCKS)]
    block_locks = [threading.Lock() for _ in range(BLOCKS)]

    def allocate(identity):
        i = identity % INODES
        with inode_locks[i]:
            if inodes[i].load() == 0:
                block = (i * 2) % BLOCKS
                for _ in range(10):
                    with block_locks[block]:
                        if not busy[block].load():
                            busy[block].store(1)
                            inodes[i].store(block + 1)
                            break
                    block = (block + 1) % BLOCKS

    for identity in range(n):
        dpor.spawn(allocate, identity)
    dpor.join_all()


@dpor.model
def indexer(n: int = 12):
    """`n` threads insert four words each into a hash table (Flanagan, Godefroid 2005): 8^(n - 11), n >=
    11.
    """
    table = [dpor.Atomic(0) for _ in range(TABLE_SIZE)]
    locks = [threading.Lock() for _ in range(TABLE_SIZE)]

    def insert_if_free(slot, word):
        with locks[slot]:
            if table[slot].load() == 0:
                table[slot].store(word)
                return True
        return False

    def insert_words(identity):
        for k in range(1, 5):
            word = k * 11 + identity
            slot = (word * 7) % TABLE_SIZE
            while not insert_if_free(slot, word):
                slot = (slot + 1) % TABLE_SIZE

    for identity in range(n):
        dpor.spawn(insert_words, identity)
    dpor.join_all()
