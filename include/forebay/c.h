#pragma once

/*
 * The C interface: a pipeline in JSON becomes a running loader, whose batches are handed over as plain arrays or by DLPack.
 *
 *     fb_loader* loader;
 *     fb_batch* batch;
 *     fb_code code;
 *     if (fb_open(pipeline_json, "{\"seed\": 7, \"epochs\": 1}", &loader) != FB_OK) return fail(fb_last_error_message());
 *     while ((code = fb_next(loader, -1, &batch)) == FB_OK) {
 *       fb_field image = {sizeof image};
 *       fb_batch_field(batch, 0, &image);
 *       ...
 *       fb_batch_free(batch);
 *     }
 *     fb_loader_free(loader);
 *
 * Every function that can fail returns a code: FB_OK is 0, failures are positive, and what is no failure but no batch either is negative. After a failure
 * fb_last_error() says on the same thread what it was. No C++ exception and no signal comes out of any of them.
 *
 * Handles are names, not addresses: they are never read through, none is given out twice in a process, and one that was freed, or comes from the
 * other side of a fork, is refused with FB_INVALID_ARGUMENT. Functions may be called from any thread; those of one loader that move it (next, set_epoch,
 * load_state) take turns. Texts are UTF-8 that ends with a zero byte.
 *
 * The interface grows and does not change: functions, codes and members of structs are only added, at the end. A struct that is filled in
 * begins with its size, which the caller sets, so that a program gets the members that it was compiled with. What cannot be kept so raises FB_ABI_VERSION, and
 * the number in the name of the shared library with it.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FB_API __attribute__((visibility("default")))
#else
#define FB_API
#endif

#define FB_ABI_VERSION 1

/* What a function returns. More failures may come. */
typedef int32_t fb_code;
enum {
  FB_END_OF_EPOCH = -1, /* fb_next: the epoch is over; the next call begins the next one */
  FB_FINISHED = -2,     /* fb_next: all epochs are over, and their end was told */
  FB_TIMED_OUT = -3,    /* fb_next: no batch within the time; nothing is lost */
  FB_OK = 0,
  FB_INVALID_ARGUMENT = 1, /* the caller asked for something that makes no sense; nothing was done */
  FB_NOT_FOUND = 2,        /* a named object does not exist */
  FB_CORRUPT = 3,          /* an object's bytes are not what its format says */
  FB_UNAVAILABLE = 4,      /* storage did not answer; trying again may help */
  FB_UNSUPPORTED = 5,      /* valid data of a kind that is not handled */
  FB_OUT_OF_BUDGET = 6,    /* more memory is needed than there can be */
  FB_CANCELLED = 7,        /* the loader was closed meanwhile, or its opening cancelled */
  FB_STATE_MISMATCH = 8,   /* a saved state belongs to other data, another pipeline or another seed */
  FB_INTERNAL = 9          /* a defect of Forebay */
};

typedef struct fb_loader fb_loader;
typedef struct fb_batch fb_batch;
typedef struct fb_canceller fb_canceller;

/* ---- versions and failures */

/* FB_ABI_VERSION of the library, which may be newer than that of this header: compare them once. */
FB_API int32_t fb_abi_version(void);
/* Of Forebay: "0.1.0". */
FB_API const char* fb_version(void);
/* "Corrupt"; "Unknown" for a number that is no code. */
FB_API const char* fb_code_name(fb_code code);

/* The last failure on this thread. Texts are never null, and stay until the next failure on it. */
typedef struct fb_error {
  size_t struct_size;
  fb_code code;         /* FB_OK: there was none */
  const char* message;  /* one line with all of what follows */
  const char* key;      /* of the object; "" where there is none */
  const char* op;       /* of the operator; "" likewise */
  int64_t sample;       /* its id; -1 where there is none */
  int64_t range_offset; /* bytes in the object; -1 likewise */
  int64_t range_length;
  uint64_t bytes_needed; /* would have been enough (FB_OUT_OF_BUDGET); 0: not known */
} fb_error;

FB_API fb_code fb_last_error(fb_error* error);
/* Its message alone; "" where there was none. */
FB_API const char* fb_last_error_message(void);

/* ---- a loader */

/*
 * Opens the data set (reads its listing); nothing else runs before the first fb_next.
 *
 * pipeline_json: what Pipeline.to_json() gives in Python and in C++.
 * options_json: an object with any of the loader's options, named and meant as in Python: seed, epochs, steps_per_epoch, rank, world_size, threads, requests,
 *   memory, on_error, max_errors, storage_options, shard_by, hosts, peers, journal, restart. Null or "": all as they are by default.
 * loader: the handle, to be freed by fb_loader_free; null after a failure.
 */
FB_API fb_code fb_open(const char* pipeline_json, const char* options_json, fb_loader** loader);

/*
 * The same, and fb_cancel() of `canceller` ends it with FB_CANCELLED: storage that is slow or away may hold an opening up for long. Null: nothing does. Once it has
 * returned the canceller means nothing to the loader, which fb_loader_close() stops. One canceller may serve many openings, at once and later.
 */
FB_API fb_code fb_open_cancellable(const char* pipeline_json, const char* options_json, fb_canceller* canceller,
                                   fb_loader** loader);
/* To be freed by fb_canceller_free. */
FB_API fb_code fb_canceller_new(fb_canceller** canceller);
/*
 * Ends the openings with this canceller, those to come included; again does nothing. From any thread, but not from a signal handler, since it takes locks: let the
 * handler write to a pipe that a thread reads, or a thread wait for the signal (sigwait).
 */
FB_API fb_code fb_cancel(fb_canceller* canceller);
/* Openings with it go on, and nothing cancels them any more. Null is allowed; a second time is FB_INVALID_ARGUMENT. */
FB_API fb_code fb_canceller_free(fb_canceller* canceller);

/*
 * The next batch, to be freed by fb_batch_free; null unless FB_OK is returned. After the last batch of an epoch comes FB_END_OF_EPOCH, once, then the first batch
 * of the next epoch, or FB_FINISHED for ever. timeout_ms: -1 waits as long as it takes; fb_loader_close() from another thread ends any wait.
 */
FB_API fb_code fb_next(fb_loader* loader, int64_t timeout_ms, fb_batch** batch);

typedef struct fb_loader_info {
  size_t struct_size;
  int64_t epoch;             /* of the next batch */
  int64_t batches_per_epoch; /* of this rank in the current epoch, those done included; -1: a stream without an end */
  int64_t samples;           /* of the data set, after take */
  int32_t rank;
  int32_t world_size;
  int32_t finished;     /* 1: no batch is left to give */
  char fingerprint[36]; /* of data set, pipeline and seed: 32 hexadecimal digits */
} fb_loader_info;

FB_API fb_code fb_loader_describe(fb_loader* loader, fb_loader_info* info);

/*
 * A new round of the program's loop begins. It goes on in the epoch that a round before left; with {"restart": true} it begins that epoch anew, unless a state was
 * loaded since the last batch. An end of an epoch that fb_next() has not told yet is forgotten.
 */
FB_API fb_code fb_begin(fb_loader* loader);
/* Goes to the beginning of an epoch. The current epoch keeps its position. */
FB_API fb_code fb_set_epoch(fb_loader* loader, int64_t epoch);
/* Where the loader stands, as JSON, the same on every rank; valid between any two batches. To be freed by fb_string_free. */
FB_API fb_code fb_state(fb_loader* loader, char** json);
/* Goes there, also with other ranks, threads or batch size. strict 0: takes the position of another pipeline, too, where there are as many samples. */
FB_API fb_code fb_load_state(fb_loader* loader, const char* json, int32_t strict);
/* All that was counted (docs/stats.md), as JSON. To be freed by fb_string_free. */
FB_API fb_code fb_stats(fb_loader* loader, char** json);
/* The bad samples that were skipped or replaced: a JSON list of {sample, key, operator, code, message, count}. To be freed by fb_string_free. */
FB_API fb_code fb_errors(fb_loader* loader, char** json);

/* Stops everything, in bounded time, from any thread: waits of other threads end with FB_CANCELLED. Closing again does nothing; batches stay valid. */
FB_API fb_code fb_loader_close(fb_loader* loader);
/* Closes and frees it. Null is allowed; a second time is FB_INVALID_ARGUMENT. */
FB_API fb_code fb_loader_free(fb_loader* loader);
FB_API fb_code fb_string_free(char* text);

/* ---- a batch */

enum { FB_INT = 0, FB_UINT = 1, FB_FLOAT = 2, FB_BFLOAT = 4, FB_BOOL = 6 }; /* as DLPack has them */

/* A C-contiguous array in the memory of the batch. */
typedef struct fb_array {
  void* data;         /* aligned to 64 bytes; never null */
  int32_t type;       /* FB_INT, FB_UINT, FB_FLOAT, FB_BFLOAT (of 16 bits) or FB_BOOL */
  int32_t bits;       /* of an element: 8, 16, 32 or 64 */
  int32_t dimensions; /* at most 8 */
  int32_t reserved;
  const int64_t* shape;
  uint64_t bytes; /* of all elements */
} fb_array;

/* What a field is; which arrays it has. Offsets are int64. */
enum {
  FB_DENSE = 0,  /* values: (rows, ...) */
  FB_RAGGED = 1, /* values: (total, ...); offsets: (rows + 1,): row i has values offsets[i] to offsets[i + 1] */
  FB_BYTES = 2,  /* likewise, of uint8 */
  FB_TEXT = 3,   /* likewise, of UTF-8 */
  FB_BYTES_LIST =
      4, /* values: uint8; offsets: row i has the strings offsets[i] to offsets[i + 1]; string_offsets: where each lies in values */
  FB_TEXT_LIST = 5 /* likewise, of UTF-8 */
};

typedef struct fb_field {
  size_t struct_size;
  const char* name;
  int32_t kind;
  int32_t arrays; /* 1: values; 2: and offsets; 3: and string_offsets. Those that are not there are zero. */
  fb_array values;
  fb_array offsets;
  fb_array string_offsets;
} fb_field;

typedef struct fb_batch_info {
  size_t struct_size;
  int64_t rows;
  int64_t padding; /* how many rows at the end are repeats */
  int64_t epoch;
  int64_t step;             /* in the epoch, from 0 */
  const int64_t* ids;       /* (rows,): of the samples in the data set, repeats included */
  const int64_t* positions; /* (rows,): in the epoch's global order */
  int32_t fields;           /* how many there are */
  int32_t reserved;
} fb_batch_info;

/* What is pointed to stays as long as the batch is not freed. */
FB_API fb_code fb_batch_describe(fb_batch* batch, fb_batch_info* info);
/* The field of that number, from 0. */
FB_API fb_code fb_batch_field(fb_batch* batch, int32_t number, fb_field* field);
/* The number of the field of that name. FB_INVALID_ARGUMENT where there is none, with those that there are. */
FB_API fb_code fb_batch_find(fb_batch* batch, const char* name, int32_t* number);

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/*
 * An array of a field for whoever takes DLPack, on the CPU, without a copy: which 0 is its values, 1 offsets, 2 string_offsets. It keeps the memory by itself, also
 * when the batch is freed, until its deleter is called. The second is for consumers that know versions (DLPack 1.0).
 */
FB_API fb_code fb_batch_dlpack(fb_batch* batch, int32_t number, int32_t which, struct DLManagedTensor** tensor);
FB_API fb_code fb_batch_dlpack_versioned(fb_batch* batch, int32_t number, int32_t which,
                                         struct DLManagedTensorVersioned** tensor);

/* Null is allowed; a second time is FB_INVALID_ARGUMENT. */
FB_API fb_code fb_batch_free(fb_batch* batch);

#ifdef __cplusplus
}
#endif
