#pragma once

#include <vector>

namespace forebay {

struct OpDef;

/// One function per operator; its file has the operator's name.
OpDef add_noise_op();
OpDef aggregate_op();
OpDef balance_op();
OpDef batch_op();
OpDef bucket_op();
OpDef buffer_op();
OpDef only_op();
OpDef rehearse_op();
OpDef cache_op();
OpDef cast_op();
OpDef center_crop_op();
OpDef clip_op();
OpDef color_jitter_op();
OpDef decode_audio_op();
OpDef decode_image_op();
OpDef embed_op();
OpDef extract_text_op();
OpDef fill_missing_op();
OpDef fill_null_op();
OpDef hash_bucket_op();
OpDef image_size_op();
OpDef join_parts_op();
OpDef keep_groups_op();
OpDef keep_keys_op();
OpDef leave_out_op();
OpDef layout_op();
OpDef log1p_op();
OpDef mel_spectrogram_op();
OpDef mfcc_op();
OpDef normalize_op();
OpDef pack_op();
OpDef pad_op();
OpDef pad_or_crop_op();
OpDef part_number_op();
OpDef patchify_op();
OpDef random_crop_op();
OpDef random_flip_op();
OpDef random_gain_op();
OpDef random_resized_crop_op();
OpDef rename_op();
OpDef repeat_op();
OpDef resize_op();
OpDef sample_op();
OpDef select_op();
OpDef shuffle_op();
OpDef spec_augment_op();
OpDef stack_op();
OpDef take_op();
OpDef tokenize_op();
OpDef window_op();

/// All operators, sorted by name. The loader carries out `balance`, `batch`, `bucket`, `cache`, `keep_keys`,
/// `repeat`, `sample`, `shuffle` and `take`; here they only check their arguments.
std::vector<OpDef> all_ops();

}  // namespace forebay
