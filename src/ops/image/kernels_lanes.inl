// Included by kernels_{neon,sse4,avx2,avx512}.cc, each of which first defines:
//   FOREBAY_TARGET           the attribute that lets a function use the instruction set
//   FOREBAY_LANE             the same, for small functions that must be inlined
//   Vec, kLanes              a register of kLanes times 16 bytes
//   load, store, zero, set32, shuffle, madd, add32, shift_left_8, shift_right_22, pack32, pack16,
//   low8, high8
//   broadcast_lane(from)     the same 16 bytes in every lane
//   load_lanes(row, offsets) 16 bytes from each of kLanes places
//   store_block(pixels, out) four pixels of four 32-bit numbers as 16 bytes
//   kFloats, store_floats    converts kFloats pixels to three planes of floats
//   shuffle_16(from, lanes, to) stores the shuffled 16 bytes at `from`
// All but the last four work within lanes of 16 bytes, so the same text serves every width.

namespace {

// Shuffles that turn packed pixels into pairs of 16-bit numbers (first tap, second tap) per
// channel: kTaps01 for the first two pixels, kTaps23 for the next two.
alignas(16) constexpr uint8_t kTaps01[16] = {0, 128, 3, 128, 1, 128, 4, 128, 2, 128, 5, 128, 128, 128, 128, 128};
alignas(16) constexpr uint8_t kTaps23[16] = {6, 128, 9, 128, 7, 128, 10, 128, 8, 128, 11, 128, 128, 128, 128, 128};
// Leaves out the fourth byte of each pixel.
alignas(16) constexpr uint8_t kPackedRgb[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 128, 128, 128, 128};

// Σ high × 256 + Σ low, rounded, as 32-bit numbers from 0 to 255. Rounding may give 256, which
// packing clips.
FOREBAY_LANE Vec finish(Vec high, Vec low) {
  return shift_right_22(add32(add32(shift_left_8(high), low), set32(1 << (kWeightBits - 1))));
}

// kPairs is the number of pairs, or 0 if it is known only at run time.
template <int kPairs>
FOREBAY_LANE Vec weigh(const uint8_t* row, const int32_t* offsets, const int16_t* weights, int64_t any_pairs) {
  const Vec taps01 = broadcast_lane(kTaps01), taps23 = broadcast_lane(kTaps23);
  const int64_t pairs = kPairs > 0 ? kPairs : any_pairs;
  Vec high = zero(), low = zero();
  int64_t pair = 0;
  for (; pair + 2 <= pairs; pair += 2, weights += 128) {
    const Vec pixels = load_lanes(row + pair * 6, offsets);
    const Vec first = shuffle(pixels, taps01), second = shuffle(pixels, taps23);
    high = add32(high, add32(madd(first, load(weights)), madd(second, load(weights + 64))));
    low = add32(low, add32(madd(first, load(weights + 32)), madd(second, load(weights + 96))));
  }
  if (pair < pairs) {
    const Vec first = shuffle(load_lanes(row + pair * 6, offsets), taps01);
    high = add32(high, madd(first, load(weights)));
    low = add32(low, madd(first, load(weights + 32)));
  }
  return finish(high, low);
}

template <int kPairs>
FOREBAY_TARGET void horizontal_pairs(const HorizontalTaps& taps, const uint8_t* row, uint8_t* out) {
  const int32_t* offsets = taps.offset;
  const int16_t* weights = taps.weights;
  for (int64_t block = 0; block < taps.blocks; ++block, offsets += 4, weights += 64 * taps.pairs, out += 16) {
    Vec pixels[4 / kLanes];
    for (int part = 0; part < 4 / kLanes; ++part) {
      pixels[part] = weigh<kPairs>(row, offsets + part * kLanes, weights + part * kLanes * 8, taps.pairs);
    }
    store_block(pixels, out);
  }
}

// The pair of 16-bit weights (first, second) of two rows in every 32-bit place.
FOREBAY_LANE Vec pair_of(int32_t first, int32_t second) { return set32((second << 16) | first); }

struct Sums {
  Vec part[4];
};

FOREBAY_LANE void add_rows(const Vec& a, const Vec& b, Vec high, Vec low, Sums* high_sums, Sums* low_sums) {
  const Vec both_low = low8(a, b), both_high = high8(a, b);
  const Vec words[4] = {low8(both_low, zero()), high8(both_low, zero()), low8(both_high, zero()),
                        high8(both_high, zero())};
  for (int i = 0; i < 4; ++i) {
    high_sums->part[i] = add32(high_sums->part[i], madd(words[i], high));
    low_sums->part[i] = add32(low_sums->part[i], madd(words[i], low));
  }
}

template <int kTaps>
FOREBAY_TARGET void vertical_taps(const int32_t* weights, int64_t any_taps, const uint8_t* const* rows, int64_t bytes,
                                  uint8_t* out) {
  const int64_t taps = kTaps > 0 ? kTaps : any_taps;
  for (int64_t at = 0; at < bytes; at += 16 * kLanes) {
    Sums high{{zero(), zero(), zero(), zero()}}, low = high;
    int64_t t = 0;
    for (; t + 2 <= taps; t += 2) {
      add_rows(load(rows[t] + at), load(rows[t + 1] + at), pair_of(weights[t] >> 8, weights[t + 1] >> 8),
               pair_of(weights[t] & 255, weights[t + 1] & 255), &high, &low);
    }
    if (t < taps) {
      add_rows(load(rows[t] + at), zero(), pair_of(weights[t] >> 8, 0), pair_of(weights[t] & 255, 0), &high, &low);
    }
    Vec done[4];
    for (int i = 0; i < 4; ++i) done[i] = finish(high.part[i], low.part[i]);
    store(out + at, pack16(pack32(done[0], done[1]), pack32(done[2], done[3])));
  }
}

}  // namespace

FOREBAY_TARGET void horizontal_rgb(const HorizontalTaps& taps, const uint8_t* row, uint8_t* out) {
  switch (taps.pairs) {
    case 1: return horizontal_pairs<1>(taps, row, out);
    case 2: return horizontal_pairs<2>(taps, row, out);
    case 3: return horizontal_pairs<3>(taps, row, out);
    case 4: return horizontal_pairs<4>(taps, row, out);
    default: return horizontal_pairs<0>(taps, row, out);
  }
}

FOREBAY_TARGET void vertical(const int32_t* weights, int64_t taps, const uint8_t* const* rows, int64_t bytes,
                             uint8_t* out) {
  switch (taps) {
    // Enlarging and halving need 2 to 5 taps. Loops of known length are unrolled.
    case 2: return vertical_taps<2>(weights, taps, rows, bytes, out);
    case 3: return vertical_taps<3>(weights, taps, rows, bytes, out);
    case 4: return vertical_taps<4>(weights, taps, rows, bytes, out);
    case 5: return vertical_taps<5>(weights, taps, rows, bytes, out);
    default: return vertical_taps<0>(weights, taps, rows, bytes, out);
  }
}

FOREBAY_TARGET void planar_float(const uint8_t* pixels, int64_t width, const float* scale, const float* bias,
                                 float* const* planes) {
  int64_t x = 0;
  for (; x + kFloats <= width; x += kFloats) store_floats(pixels + 4 * x, scale, bias, planes, x);
  if (x == width) return;
  // The last pixels are done again with a full register that ends at the last one. Pictures
  // narrower than a register go pixel by pixel.
  if (width >= kFloats) return store_floats(pixels + 4 * (width - kFloats), scale, bias, planes, width - kFloats);
  for (int c = 0; c < 3; ++c) {
    for (x = 0; x < width; ++x) planes[c][x] = static_cast<float>(pixels[4 * x + c]) * scale[c] + bias[c];
  }
}

FOREBAY_TARGET void packed_rgb(const uint8_t* pixels, int64_t width, uint8_t* out) {
  // A store writes sixteen bytes for twelve of output, so the last pixels go one by one.
  while (width >= 6) {
    shuffle_16(pixels, kPackedRgb, out);
    pixels += 16;
    out += 12;
    width -= 4;
  }
  scalar::packed_rgb(pixels, width, out);
}
