// Made by tools/operators from what src/ops says: do not edit.
// clang-format off

#include "forebay/pipeline.h"
#include "loader/describe/described_values.h"

namespace forebay {

Pipeline Pipeline::balance(BalanceOptions options) const {
  return with_step(*this, "balance", {{"by", unless_default(options.by, "label")},
                                      {"samples", optional_json(options.samples)}});
}

Pipeline Pipeline::batch(int64_t n, BatchOptions options) const {
  return with_step(*this, "batch", {{"n", n},
                                    {"last", options.last},
                                    {"ragged", field_json(options.ragged)}});
}

Pipeline Pipeline::bucket(BucketOptions options) const {
  return with_step(*this, "bucket", {{"by", unless_default(options.by, "length")},
                                     {"tokens", optional_json(options.tokens)},
                                     {"cost", range_json(options.cost)},
                                     {"padded", unless_default(options.padded, true)},
                                     {"samples", optional_json(options.samples)},
                                     {"boundaries", range_json(options.boundaries)},
                                     {"sizes", range_json(options.sizes)},
                                     {"window", optional_json(options.window)},
                                     {"group", unless_default(options.group, 24)},
                                     {"ragged", field_json(options.ragged)}});
}

Pipeline Pipeline::cache(CacheStepOptions options) const {
  return with_step(*this, "cache", {{"ram", byte_size_json(options.ram)},
                                    {"disk", byte_size_json(options.disk)},
                                    {"dir", text_or_none(options.dir)},
                                    {"peers", options.peers},
                                    {"compression", text_or_none(options.compression)}});
}

Pipeline Pipeline::keep_groups(std::string_view by, double begin, double end, KeepGroupsOptions options) const {
  return with_step(*this, "keep_groups", {{"by", std::string(by)},
                                          {"begin", begin},
                                          {"end", end},
                                          {"salt", unless_default(options.salt, "")}});
}

Pipeline Pipeline::keep_keys(double begin, double end, KeepKeysOptions options) const {
  return with_step(*this, "keep_keys", {{"begin", begin},
                                        {"end", end},
                                        {"salt", unless_default(options.salt, "")}});
}

Pipeline Pipeline::only(std::map<std::string, std::vector<int64_t>> values) const {
  return with_step(*this, "only", {{"values", Json(values)}});
}

Pipeline Pipeline::pad(std::string_view field, double value, PadOptions options) const {
  return with_step(*this, "pad", {{"field", std::string(field)},
                                  {"value", value},
                                  {"length", optional_json(options.length)}});
}

Pipeline Pipeline::rename(std::map<std::string, std::string> names) const {
  return with_step(*this, "rename", {{"names", Json(names)}});
}

Pipeline Pipeline::repeat(double n) const {
  return with_step(*this, "repeat", {{"n", n}});
}

Pipeline Pipeline::sample(SampleOptions options) const {
  return with_step(*this, "sample", {{"n", optional_json(options.n)},
                                     {"weights", weights_json(options.weights)},
                                     {"replacement", unless_default(options.replacement, true)}});
}

Pipeline Pipeline::select(Fields fields) const {
  return with_step(*this, "select", {{"fields", Json(fields)}});
}

Pipeline Pipeline::shuffle(ShuffleOptions options) const {
  return with_step(*this, "shuffle", {{"block", optional_json(options.block)},
                                      {"lanes", optional_json(options.lanes)},
                                      {"ramp", optional_json(options.ramp)},
                                      {"window", optional_json(options.window)}});
}

Pipeline Pipeline::take(int64_t n, TakeOptions options) const {
  return with_step(*this, "take", {{"n", n},
                                   {"spread", optional_json(options.spread)}});
}

Pipeline Pipeline::center_crop(ImageSize n, CropOptions options) const {
  return with_step(*this, "center_crop", {{"n", size_json(n)},
                                          {"field", field_json(options.field)}});
}

Pipeline Pipeline::color_jitter(ColorJitterOptions options) const {
  return with_step(*this, "color_jitter", {{"brightness", range_json(options.brightness)},
                                           {"contrast", range_json(options.contrast)},
                                           {"saturation", range_json(options.saturation)},
                                           {"hue", range_json(options.hue)},
                                           {"field", field_json(options.field)}});
}

Pipeline Pipeline::decode_image(DecodeImageOptions options) const {
  return with_step(*this, "decode_image", {{"field", field_json(options.field)},
                                           {"mode", options.mode},
                                           {"max_pixels", options.max_pixels},
                                           {"lists", optional_json(options.lists)}});
}

Pipeline Pipeline::layout(std::string_view order, LayoutOptions options) const {
  return with_step(*this, "layout", {{"order", std::string(order)},
                                     {"field", field_json(options.field)}});
}

Pipeline Pipeline::normalize(NormalizeOptions options) const {
  return with_step(*this, "normalize", {{"mean", range_json(options.mean)},
                                        {"std", range_json(options.std)},
                                        {"field", field_json(options.field)}});
}

Pipeline Pipeline::patchify(int64_t patch, PatchifyOptions options) const {
  return with_step(*this, "patchify", {{"patch", patch},
                                       {"merge", options.merge},
                                       {"min_pixels", options.min_pixels},
                                       {"max_pixels", options.max_pixels},
                                       {"field", options.field}});
}

Pipeline Pipeline::random_crop(ImageSize n, CropOptions options) const {
  return with_step(*this, "random_crop", {{"n", size_json(n)},
                                          {"field", field_json(options.field)}});
}

Pipeline Pipeline::random_flip(RandomFlipOptions options) const {
  return with_step(*this, "random_flip", {{"p", options.p},
                                          {"field", field_json(options.field)}});
}

Pipeline Pipeline::random_resized_crop(ImageSize n, RandomResizedCropOptions options) const {
  return with_step(*this, "random_resized_crop", {{"n", size_json(n)},
                                                  {"scale", options.scale},
                                                  {"ratio", options.ratio},
                                                  {"interpolation", text_json(options.interpolation)},
                                                  {"field", field_json(options.field)}});
}

Pipeline Pipeline::resize(ImageSize size, ResizeOptions options) const {
  return with_step(*this, "resize", {{"size", size_json(size)},
                                     {"short_side", optional_json(options.short_side)},
                                     {"interpolation", text_json(options.interpolation)},
                                     {"field", field_json(options.field)}});
}

Pipeline Pipeline::aggregate(Fields functions, AggregateOptions options) const {
  return with_step(*this, "aggregate", {{"functions", field_json(functions)},
                                        {"field", field_json(options.field)},
                                        {"every", optional_json(options.every)},
                                        {"axis", options.axis},
                                        {"times", text_or_none(options.times)}});
}

Pipeline Pipeline::cast(std::string_view dtype, CastOptions options) const {
  return with_step(*this, "cast", {{"dtype", std::string(dtype)},
                                   {"field", field_json(options.field)},
                                   {"errors", options.errors}});
}

Pipeline Pipeline::clip(ClipOptions options) const {
  return with_step(*this, "clip", {{"min", limit_json("min", options.min)},
                                   {"max", limit_json("max", options.max)},
                                   {"field", field_json(options.field)}});
}

Pipeline Pipeline::fill_null(TableValue value, Fields field) const {
  return with_step(*this, "fill_null", {{"value", value_json(value)},
                                        {"field", field_json(field)}});
}

Pipeline Pipeline::hash_bucket(int64_t buckets, HashBucketOptions options) const {
  return with_step(*this, "hash_bucket", {{"buckets", buckets},
                                          {"field", field_json(options.field)},
                                          {"salt", options.salt}});
}

Pipeline Pipeline::log1p(Fields field) const {
  return with_step(*this, "log1p", {{"field", field_json(field)}});
}

Pipeline Pipeline::stack(Fields fields, std::string_view name) const {
  return with_step(*this, "stack", {{"fields", field_json(fields)},
                                    {"name", std::string(name)}});
}

Pipeline Pipeline::window(int64_t n, WindowOptions options) const {
  return with_step(*this, "window", {{"n", n},
                                     {"field", field_json(options.field)},
                                     {"stride", optional_json(options.stride)}});
}

Pipeline Pipeline::add_noise(AddNoiseOptions options) const {
  return with_step(*this, "add_noise", {{"snr", range_json(options.snr)},
                                        {"p", options.p},
                                        {"field", field_json(options.field)}});
}

Pipeline Pipeline::decode_audio(DecodeAudioOptions options) const {
  return with_step(*this, "decode_audio", {{"rate", optional_json(options.rate)},
                                           {"mono", options.mono},
                                           {"channels", optional_json(options.channels)},
                                           {"field", field_json(options.field)},
                                           {"max_samples", options.max_samples},
                                           {"lists", optional_json(options.lists)}});
}

Pipeline Pipeline::mel_spectrogram(MelSpectrogramOptions options) const {
  return with_step(*this, "mel_spectrogram", {{"rate", optional_json(options.rate)},
                                              {"n_fft", options.n_fft},
                                              {"win_length", optional_json(options.win_length)},
                                              {"hop_length", optional_json(options.hop_length)},
                                              {"f_min", options.f_min},
                                              {"f_max", optional_json(options.f_max)},
                                              {"n_mels", options.n_mels},
                                              {"power", options.power},
                                              {"norm", text_or_none(options.norm)},
                                              {"mel_scale", options.mel_scale},
                                              {"center", options.center},
                                              {"pad_mode", options.pad_mode},
                                              {"log", text_or_none(options.log)},
                                              {"field", field_json(options.field)}});
}

Pipeline Pipeline::mfcc(int64_t n_mfcc, MfccOptions options) const {
  return with_step(*this, "mfcc", {{"n_mfcc", n_mfcc},
                                   {"rate", optional_json(options.rate)},
                                   {"n_fft", options.n_fft},
                                   {"win_length", optional_json(options.win_length)},
                                   {"hop_length", optional_json(options.hop_length)},
                                   {"f_min", options.f_min},
                                   {"f_max", optional_json(options.f_max)},
                                   {"n_mels", options.n_mels},
                                   {"power", options.power},
                                   {"norm", text_or_none(options.norm)},
                                   {"mel_scale", options.mel_scale},
                                   {"center", options.center},
                                   {"pad_mode", options.pad_mode},
                                   {"log_mels", options.log_mels},
                                   {"field", field_json(options.field)}});
}

Pipeline Pipeline::pad_or_crop(double seconds, PadOrCropOptions options) const {
  return with_step(*this, "pad_or_crop", {{"seconds", seconds},
                                          {"random", options.random},
                                          {"rate", optional_json(options.rate)},
                                          {"field", field_json(options.field)}});
}

Pipeline Pipeline::random_gain(RandomGainOptions options) const {
  return with_step(*this, "random_gain", {{"db", range_json(options.db)},
                                          {"p", options.p},
                                          {"field", field_json(options.field)}});
}

Pipeline Pipeline::spec_augment(SpecAugmentOptions options) const {
  return with_step(*this, "spec_augment", {{"time_masks", options.time_masks},
                                           {"freq_masks", options.freq_masks},
                                           {"time_mask_param", options.time_mask_param},
                                           {"freq_mask_param", options.freq_mask_param},
                                           {"p", options.p},
                                           {"value", options.value},
                                           {"field", field_json(options.field)}});
}

Pipeline Pipeline::embed(std::string_view table, EmbedOptions options) const {
  return with_step(*this, "embed", {{"table", std::string(table)},
                                    {"field", unless_default(options.field, "tokens")},
                                    {"into", unless_default(options.into, "embedding")},
                                    {"hash", hash_json(options.hash, std::string(table))}});
}

Pipeline Pipeline::extract_text(ExtractTextOptions options) const {
  return with_step(*this, "extract_text", {{"field", unless_default(field_json(options.field), "text")}});
}

Pipeline Pipeline::pack(IntByField length, PackOptions options) const {
  return with_step(*this, "pack", {{"length", by_field_json(length)},
                                   {"field", unless_default(options.field, "tokens")},
                                   {"how", unless_default(options.how, "first-fit")},
                                   {"too_long", unless_default(options.too_long, "split")},
                                   {"eos", by_field_json(options.eos)},
                                   {"shift", by_field_json(options.shift)},
                                   {"pad_value", unless_default(by_field_json(options.pad_value), 0.0)},
                                   {"limits", by_field_json(options.limits)},
                                   {"max_segments", optional_json(options.max_segments)},
                                   {"cu_seqlens", unless_default(options.cu_seqlens, false)},
                                   {"open_blocks", unless_default(options.open_blocks, 64)},
                                   {"window", unless_default(options.window, 65536)},
                                   {"arrange", text_or_none(options.arrange)}});
}

Pipeline Pipeline::tokenize(std::string_view file, TokenizeOptions options) const {
  return with_step(*this, "tokenize", {{"file", std::string(file)},
                                       {"field", unless_default(options.field, "text")},
                                       {"into", unless_default(options.into, "tokens")},
                                       {"special", options.special},
                                       {"max_length", optional_json(options.max_length)},
                                       {"hash", hash_json(options.hash, std::string(file))}});
}

Pipeline Pipeline::buffer(BufferOptions options) const {
  return with_step(*this, "buffer", {{"policy", options.policy},
                                     {"bytes", byte_size_json(options.bytes)},
                                     {"disk", byte_size_json(options.disk)},
                                     {"dir", text_or_none(options.dir)},
                                     {"on_underrun", options.on_underrun}});
}

Pipeline Pipeline::rehearse(int64_t n, int64_t capacity, RehearseOptions options) const {
  return with_step(*this, "rehearse", {{"n", n},
                                       {"capacity", capacity},
                                       {"by", options.by},
                                       {"policy", options.policy},
                                       {"candidates", optional_json(options.candidates)},
                                       {"where", unless_default(options.where, "raw")},
                                       {"ram", byte_size_json(options.ram)}});
}

}  // namespace forebay
