"""The letters that every comment about a shape uses, and the paper's symbol for each.

| letter | meaning                                      | paper |
|--------|----------------------------------------------|-------|
| B      | batch                                        |       |
| N      | length of a sequence (tokens 1..N)           |       |
| R      | number of read positions (1, or N)           |       |
| S      | number of lags 0..S-1                        |       |
| d      | size of one input token                      | d     |
| o      | size of one output                           | 1     |
| D      | width of the residual stream                 | D     |
| H      | heads in a layer                             | H     |
| v      | size of one head's value                     |       |
| q      | size of one head's query and key             |       |
| m      | hidden neurons of a feed-forward network     | m     |
| V      | number of different tokens                   |       |
| M      | memories: lags, lag functions or kernels     | M     |
| K      | nesting of an adaptive memory                | K     |

Positions count from 1, as in the paper: position t is row t-1 of an array, and lag s at position t
is row t-1-s. Lags before the first token read zeros (docs/theory.md#finite-length); where
tokens are integers the padding is -1, whose one-hot vector is zero.
"""

PAD_TOKEN = -1
