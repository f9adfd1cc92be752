/* What decoding competes with: the same transposition, written by hand.

   Records lie anywhere in a window; each number is byte-swapped into the column of its field, an
   unsigned one into the wider signed one that it lands in; text and opaque bytes are copied.
   Compiled on the spot by transpose.py, which also writes layouts.h: for each layout a macro
   FIELDS_name(F) that lists its fields as F(column, offset, length, kind), and DEFINE(name). A kind
   is 0 for bytes, else ten times the bytes read and the bytes landed: 48 is of 4 bytes into 8. */

#include <stdint.h>
#include <string.h>

typedef uint8_t u8;

struct field {
    int32_t offset, length, kind;
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
            switch (fields[f].kind) {
            case 14: ((uint32_t *)columns[f])[r] = *from; break;
            case 22: ((uint16_t *)columns[f])[r] = swap2(from); break;
            case 24: ((uint32_t *)columns[f])[r] = swap2(from); break;
            case 44: ((uint32_t *)columns[f])[r] = swap4(from); break;
            case 48: ((uint64_t *)columns[f])[r] = swap4(from); break;
            case 88: ((uint64_t *)columns[f])[r] = swap8(from); break;
            default: memcpy(columns[f] + r * length, from, length);
            }
        }
    }
}

/* The same with a function for each layout: the compiler knows every offset and width. */
#define MOVE_14(c, offset, length) ((uint32_t *)columns[c])[r] = record[offset];
#define MOVE_22(c, offset, length) ((uint16_t *)columns[c])[r] = swap2(record + (offset));
#define MOVE_24(c, offset, length) ((uint32_t *)columns[c])[r] = swap2(record + (offset));
#define MOVE_44(c, offset, length) ((uint32_t *)columns[c])[r] = swap4(record + (offset));
#define MOVE_48(c, offset, length) ((uint64_t *)columns[c])[r] = swap4(record + (offset));
#define MOVE_88(c, offset, length) ((uint64_t *)columns[c])[r] = swap8(record + (offset));
#define MOVE_0(c, offset, length) memcpy(columns[c] + r * (length), record + (offset), length);
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
            switch (fields[f].kind) {
            case 14: COLUMN(uint32_t, swap1);
            case 22: COLUMN(uint16_t, swap2);
            case 24: COLUMN(uint32_t, swap2);
            case 44: COLUMN(uint32_t, swap4);
            case 48: COLUMN(uint64_t, swap4);
            case 88: COLUMN(uint64_t, swap8);
            default:
                for (int64_t r = first; r < behind; r++)
                    memcpy(columns[f] + r * length, window + starts[r] + offset, length);
            }
        }
    }
}
