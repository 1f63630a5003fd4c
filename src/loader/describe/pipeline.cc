#include "forebay/pipeline.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/file_hash.h"
#include "loader/describe/open_source.h"
#include "loader/describe/said_args.h"
#include "loader/describe/user_code.h"
#include "pipeline/description.h"

namespace forebay {

namespace {

Json field_json(const Fields& fields) {
  if (fields.empty()) return nullptr;
  return fields.size() == 1 ? Json(fields.front()) : Json(fields);
}

Json size_json(const ImageSize& size) { return size.size() == 1 ? Json(size.front()) : Json(size); }

Json range_json(const JitterRange& range) {
  if (range.empty()) return nullptr;
  return range.size() == 1 ? Json(range.front()) : Json(range);
}

Json text_json(const TextByField& text) {
  return std::visit([](const auto& one) { return Json(one); }, text);
}

// An empty text says that nothing was given.
Json text_or_none(std::string text) { return text.empty() ? Json() : Json(std::move(text)); }

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Whole numbers are written as integers in every language, so that equal pipelines have equal
// fingerprints. Infinities and NaN are written as words, since JSON has no numbers for them.
Json number_json(double value) {
  // A double represents each integer up to this one exactly. Larger values stay floats.
  constexpr double kExact = 0x1p53;
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value == std::floor(value) && std::abs(value) <= kExact ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json value_json(const TableValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_json(*number);
  return std::visit([](const auto& one) { return Json(one); }, value);
}

// Replaces infinities and NaN anywhere in an argument. Finite numbers stay as they are.
Json with_words(Json value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return number_json(value.get<double>());
  if (value.is_structured()) {
    for (Json& one : value) one = with_words(std::move(one));
  }
  return value;
}

Json byte_size_json(const ByteSize& size) {
  return std::visit([](const auto& value) { return Json(value); }, size);
}

Pipeline then(const Pipeline& pipeline, std::string name, Json args, std::shared_ptr<void> attachment = nullptr,
              std::string attachment_name = "") {
  OpSpec op{std::move(name), with_words(std::move(args)), std::move(attachment), std::move(attachment_name)};
  return Pipeline(std::make_shared<const Description>(pipeline.description().append(std::move(op))));
}

}  // namespace

Pipeline::Pipeline() : description_(std::make_shared<const Description>()) {}
Pipeline::Pipeline(std::shared_ptr<const Description> description) : description_(std::move(description)) {}

Pipeline Pipeline::shuffle(ShuffleOptions options) const {
  return then(*this, "shuffle",
              said_args({{"block", optional_json(options.block)},
                         {"lanes", optional_json(options.lanes)},
                         {"ramp", optional_json(options.ramp)},
                         {"window", optional_json(options.window)}}));
}
Pipeline Pipeline::buffer(BufferOptions options) const {
  return then(*this, "buffer",
              said_args({{"policy", options.policy},
                         {"bytes", byte_size_json(options.bytes)},
                         {"disk", byte_size_json(options.disk)},
                         {"dir", text_or_none(std::move(options.dir))},
                         {"on_underrun", options.on_underrun}}));
}
Pipeline Pipeline::rehearse(int64_t n, int64_t capacity, RehearseOptions options) const {
  return then(*this, "rehearse",
              said_args({{"n", n},
                         {"capacity", capacity},
                         {"by", options.by},
                         {"policy", options.policy},
                         {"candidates", optional_json(options.candidates)},
                         {"where", options.where == "raw" ? Json() : Json(options.where)},
                         {"ram", options.ram ? byte_size_json(*options.ram) : Json()}}));
}
Pipeline Pipeline::only(std::map<std::string, std::vector<int64_t>> values) const {
  return then(*this, "only", said_args({{"values", values}}));
}
Pipeline Pipeline::decode_image(DecodeImageOptions options) const {
  return then(
      *this, "decode_image",
      said_args({{"field", field_json(options.field)}, {"mode", options.mode}, {"max_pixels", options.max_pixels}}));
}
Pipeline Pipeline::resize(ImageSize size, ResizeOptions options) const {
  return then(*this, "resize",
              said_args({{"size", size_json(size)},
                         {"short_side", optional_json(options.short_side)},
                         {"interpolation", text_json(options.interpolation)},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::resize(ResizeOptions options) const {
  return then(*this, "resize",
              said_args({{"short_side", optional_json(options.short_side)},
                         {"interpolation", text_json(options.interpolation)},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::center_crop(ImageSize n, CropOptions options) const {
  return then(*this, "center_crop", said_args({{"n", size_json(n)}, {"field", field_json(options.field)}}));
}
Pipeline Pipeline::random_crop(ImageSize n, CropOptions options) const {
  return then(*this, "random_crop", said_args({{"n", size_json(n)}, {"field", field_json(options.field)}}));
}
Pipeline Pipeline::random_resized_crop(ImageSize n, RandomResizedCropOptions options) const {
  return then(*this, "random_resized_crop",
              said_args({{"n", size_json(n)},
                         {"scale", options.scale},
                         {"ratio", options.ratio},
                         {"interpolation", text_json(options.interpolation)},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::random_flip(RandomFlipOptions options) const {
  return then(*this, "random_flip", said_args({{"p", options.p}, {"field", field_json(options.field)}}));
}
Pipeline Pipeline::color_jitter(ColorJitterOptions options) const {
  return then(*this, "color_jitter",
              said_args({{"brightness", range_json(options.brightness)},
                         {"contrast", range_json(options.contrast)},
                         {"saturation", range_json(options.saturation)},
                         {"hue", range_json(options.hue)},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::normalize(NormalizeOptions options) const {
  return then(*this, "normalize",
              said_args({{"mean", range_json(options.mean)},
                         {"std", range_json(options.std)},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::decode_audio(DecodeAudioOptions options) const {
  return then(*this, "decode_audio",
              said_args({{"rate", optional_json(options.rate)},
                         {"mono", options.mono},
                         {"channels", optional_json(options.channels)},
                         {"field", field_json(options.field)},
                         {"max_samples", options.max_samples}}));
}

namespace {
// Arguments that mel spectrograms and their cepstra share, in the order of the definition.
template <typename Options>
Json mel_json(const Options& options) {
  return said_args({{"rate", optional_json(options.rate)},
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
                    {"pad_mode", options.pad_mode}});
}
}  // namespace

Pipeline Pipeline::mel_spectrogram(MelSpectrogramOptions options) const {
  Json args = mel_json(options);
  args.update(said_args({{"log", text_or_none(std::move(options.log))}, {"field", field_json(options.field)}}));
  return then(*this, "mel_spectrogram", std::move(args));
}
Pipeline Pipeline::mfcc(int64_t n_mfcc, MfccOptions options) const {
  Json args = {{"n_mfcc", n_mfcc}};
  args.update(mel_json(options));
  args.update(said_args({{"log_mels", options.log_mels}, {"field", field_json(options.field)}}));
  return then(*this, "mfcc", std::move(args));
}
Pipeline Pipeline::pad_or_crop(double seconds, PadOrCropOptions options) const {
  return then(*this, "pad_or_crop",
              said_args({{"seconds", seconds},
                         {"random", options.random},
                         {"rate", optional_json(options.rate)},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::random_gain(RandomGainOptions options) const {
  return then(*this, "random_gain",
              said_args({{"db", range_json(options.db)}, {"p", options.p}, {"field", field_json(options.field)}}));
}
Pipeline Pipeline::add_noise(AddNoiseOptions options) const {
  return then(*this, "add_noise",
              said_args({{"snr", range_json(options.snr)}, {"p", options.p}, {"field", field_json(options.field)}}));
}
Pipeline Pipeline::spec_augment(SpecAugmentOptions options) const {
  return then(*this, "spec_augment",
              said_args({{"time_masks", options.time_masks},
                         {"freq_masks", options.freq_masks},
                         {"time_mask_param", options.time_mask_param},
                         {"freq_mask_param", options.freq_mask_param},
                         {"p", options.p},
                         {"value", options.value},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::layout(std::string_view order, LayoutOptions options) const {
  return then(*this, "layout", said_args({{"order", std::string(order)}, {"field", field_json(options.field)}}));
}
Pipeline Pipeline::cast(std::string_view dtype, CastOptions options) const {
  return then(
      *this, "cast",
      said_args({{"dtype", std::string(dtype)}, {"field", field_json(options.field)}, {"errors", options.errors}}));
}
Pipeline Pipeline::map(MapFunction function, MapOptions options) const {
  auto attachment = std::make_shared<MapAttachment>(MapAttachment{std::move(function)});
  return then(*this, "map",
              said_args({{"fields", field_json(options.fields)},
                         {"adds", field_json(options.adds)},
                         {"version", text_or_none(std::move(options.version))}}),
              std::move(attachment), "<" + options.name + ">");
}
Pipeline Pipeline::filter(FilterFunction function, FilterOptions options) const {
  auto attachment = std::make_shared<FilterAttachment>(FilterAttachment{std::move(function)});
  return then(*this, "filter", said_args({{"fields", field_json(options.fields)}}), std::move(attachment),
              "<" + options.name + ">");
}
Pipeline Pipeline::select(Fields fields) const { return then(*this, "select", {{"fields", std::move(fields)}}); }
Pipeline Pipeline::rename(std::map<std::string, std::string> names) const {
  return then(*this, "rename", {{"names", std::move(names)}});
}
Pipeline Pipeline::take(int64_t n, TakeOptions options) const {
  return then(*this, "take", said_args({{"n", n}, {"spread", optional_json(options.spread)}}));
}
Pipeline Pipeline::hash_bucket(int64_t buckets, HashBucketOptions options) const {
  return then(*this, "hash_bucket",
              said_args({{"buckets", buckets}, {"field", field_json(options.field)}, {"salt", options.salt}}));
}
Pipeline Pipeline::clip(ClipOptions options) const {
  // An infinite limit is no limit.
  const auto bound = [](std::optional<double> value, double none) {
    return value && *value != none ? number_json(*value) : Json();
  };
  return then(*this, "clip",
              said_args({{"min", bound(options.min, -std::numeric_limits<double>::infinity())},
                         {"max", bound(options.max, std::numeric_limits<double>::infinity())},
                         {"field", field_json(options.field)}}));
}
Pipeline Pipeline::log1p(Fields field) const { return then(*this, "log1p", said_args({{"field", field_json(field)}})); }
Pipeline Pipeline::fill_null(TableValue value, Fields field) const {
  return then(*this, "fill_null", said_args({{"value", value_json(value)}, {"field", field_json(field)}}));
}
namespace {
Json hash_json(std::string given, const std::string& path) {
  return text_or_none(given.empty() ? file_hash(path) : std::move(given));
}

Json unless(const std::string& given, const char* otherwise) { return given == otherwise ? Json() : Json(given); }
}  // namespace

Pipeline Pipeline::extract_text(ExtractTextOptions options) const {
  const bool usual = options.field == Fields{"text"};
  return then(*this, "extract_text", said_args({{"field", usual ? Json() : field_json(options.field)}}));
}

Pipeline Pipeline::tokenize(std::string file, TokenizeOptions options) const {
  Json hash = hash_json(std::move(options.hash), file);
  return then(*this, "tokenize",
              said_args({{"file", std::move(file)},
                         {"field", unless(options.field, "text")},
                         {"into", unless(options.into, "tokens")},
                         {"special", options.special},
                         {"max_length", optional_json(options.max_length)},
                         {"hash", std::move(hash)}}));
}

Pipeline Pipeline::embed(std::string table, EmbedOptions options) const {
  Json hash = hash_json(std::move(options.hash), table);
  return then(*this, "embed",
              said_args({{"table", std::move(table)},
                         {"field", unless(options.field, "tokens")},
                         {"into", unless(options.into, "embedding")},
                         {"hash", std::move(hash)}}));
}

Pipeline Pipeline::pack(int64_t length, PackOptions options) const {
  return then(*this, "pack",
              said_args({{"length", length},
                         {"field", unless(options.field, "tokens")},
                         {"open_blocks", options.open_blocks == 64 ? Json() : Json(options.open_blocks)},
                         {"pad_value", options.pad_value == 0 ? Json() : Json(options.pad_value)}}));
}

Pipeline Pipeline::stack(Fields fields, std::string name) const {
  return then(*this, "stack", said_args({{"fields", field_json(fields)}, {"name", std::move(name)}}));
}
Pipeline Pipeline::window(int64_t n, WindowOptions options) const {
  return then(*this, "window",
              said_args({{"n", n}, {"field", field_json(options.field)}, {"stride", optional_json(options.stride)}}));
}
Pipeline Pipeline::aggregate(Fields functions, AggregateOptions options) const {
  return then(*this, "aggregate",
              said_args({{"functions", field_json(functions)},
                         {"field", field_json(options.field)},
                         {"every", optional_json(options.every)},
                         {"axis", options.axis},
                         {"times", text_or_none(std::move(options.times))}}));
}
Pipeline Pipeline::pad(std::string_view field, double value, PadOptions options) const {
  return then(*this, "pad",
              said_args({{"field", std::string(field)}, {"value", value}, {"length", optional_json(options.length)}}));
}
Pipeline Pipeline::cache(CacheStepOptions options) const {
  return then(*this, "cache",
              said_args({{"ram", byte_size_json(options.ram)},
                         {"disk", byte_size_json(options.disk)},
                         {"dir", text_or_none(std::move(options.dir))},
                         {"peers", std::move(options.peers)},
                         {"compression", text_or_none(std::move(options.compression))}}));
}
Pipeline Pipeline::batch(int64_t n, BatchOptions options) const {
  return then(*this, "batch",
              said_args({{"n", n}, {"last", std::move(options.last)}, {"ragged", field_json(options.ragged)}}));
}

std::vector<Problem> Pipeline::check() const { return forebay::check(*description_); }

Result<std::vector<std::string>> Pipeline::classes(std::stop_token stop) const {
  if (description_->steps().empty()) return problems_as_status(check());
  return class_names(description_->steps().front(), {.storage_options = {}, .stop = std::move(stop)});
}

std::string Pipeline::to_string() const { return description_->to_string(); }
Result<std::string> Pipeline::to_json() const { return description_->to_json(); }

Result<Pipeline> Pipeline::from_json(std::string_view text) {
  FOREBAY_ASSIGN(Description description, Description::from_json(text));
  return Pipeline(std::make_shared<const Description>(std::move(description)));
}

}  // namespace forebay
