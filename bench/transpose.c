/* What decoding competes with: the same transposition, written by hand.

   Records lie anywhere in a window; each number is byte-swapped into the column of its field, text
   and opaque bytes are copied. Compiled on the spot by transpose.py, which also writes layouts.h:
   for each layout a macro FIELDS_name(F) that lists its fields as F(column, offset, length, kind),
   and DEFINE(name). */

#include <stdint.h>
#include <string.h>

typedef uint8_t u8;

struct field {
    int32_t offset, length, number;
};

static inline uint16_t swap2(const u8 *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint32_t swap4(const u8 *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t swap8(const u8 *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }

/* The obvious one: for each record, for each field of a table. */
void by_record(const u8 *window, const int64_t *starts, int64_t count,
               const struct field *fields, int32_t width, u8 *const *columns)
{
    for (int64_t r = 0; r < count; r++) {
        const u8 *record = window + starts[r];
        for (int32_t f = 0; f < width; f++) {
            const u8 *from = record + fields[f].offset;
            int32_t length = fields[f].length;
            switch (fields[f].number ? length : 0) {
            case 1: columns[f][r] = *from; break;
            case 2: ((uint16_t *)columns[f])[r] = swap2(from); break;
            case 4: ((uint32_t *)columns[f])[r] = swap4(from); break;
            case 8: ((uint64_t *)columns[f])[r] = swap8(from); break;
            default: memcpy(columns[f] + r * length, from, length);
            }
        }
    }
}

/* The same with a function for each layout: the compiler knows every offset and width. */
#define NUMBER_1(c, from) columns[c][r] = *(from)
#define NUMBER_2(c, from) ((uint16_t *)columns[c])[r] = swap2(from)
#define NUMBER_4(c, from) ((uint32_t *)columns[c])[r] = swap4(from)
#define NUMBER_8(c, from) ((uint64_t *)columns[c])[r] = swap8(from)
#define MOVE_number(c, offset, length) NUMBER_##length(c, record + (offset));
#define MOVE_bytes(c, offset, length) memcpy(columns[c] + r * (length), record + (offset), length);
#define MOVE(c, offset, length, kind) MOVE_##kind(c, offset, length)

#define DEFINE(name)                                                                       \
    void known_##name(const u8 *restrict window, const int64_t *restrict starts,           \
                      int64_t count, u8 *restrict const *restrict columns)                 \
    {                                                                                      \
        for (int64_t r = 0; r < count; r++) {                                              \
            const u8 *record = window + starts[r];                                         \
            (void)record;                                                                  \
            FIELDS_##name(MOVE)                                                            \
        }                                                                                  \
    }

#include "layouts.h"

/* The tuned one: records that fit the cache together, field by field. */
#define COLUMN(type, load)                                                                 \
    for (int64_t r = first; r < behind; r++)                                               \
        ((type *)columns[f])[r] = load(window + starts[r] + offset);                       \
    break

static inline u8 swap1(const u8 *p) { return *p; }

void by_field(const u8 *restrict window, const int64_t *restrict starts, int64_t count,
              int64_t block, const struct field *fields, int32_t width,
              u8 *restrict const *restrict columns)
{
    for (int64_t first = 0; first < count; first += block) {
        int64_t behind = first + block < count ? first + block : count;
        for (int32_t f = 0; f < width; f++) {
            int32_t offset = fields[f].offset, length = fields[f].length;
            switch (fields[f].number ? length : 0) {
            case 1: COLUMN(uint8_t, swap1);
            case 2: COLUMN(uint16_t, swap2);
            case 4: COLUMN(uint32_t, swap4);
            case 8: COLUMN(uint64_t, swap8);
            default:
                for (int64_t r = first; r < behind; r++)
                    memcpy(columns[f] + r * length, window + starts[r] + offset, length);
            }
        }
    }
}
