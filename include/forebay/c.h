#pragma once

/*
 * The C interface: opens a loader from a pipeline in JSON and hands over its batches as plain
 * arrays or through DLPack.
 *
 *     fb_loader* loader;
 *     fb_batch* batch;
 *     fb_code code;
 *     if (fb_open(pipeline_json, "{\"seed\": 7, \"epochs\": 1}", &loader) != FB_OK)
 *       return fail(fb_last_error_message());
 *     while ((code = fb_next(loader, -1, &batch)) == FB_OK) {
 *       fb_field image = {sizeof image};
 *       fb_batch_field(batch, 0, &image);
 *       ...
 *       fb_batch_free(batch);
 *     }
 *     fb_loader_free(loader);
 *
 * Every function that can fail returns a code. FB_OK is 0, failures are positive, and a negative
 * code means that fb_next() has no batch although nothing failed. After a failure fb_last_error()
 * describes it on the same thread. No function throws a C++ exception or raises a signal.
 *
 * Handles are numbers, not addresses. The library never dereferences them, and no number is used
 * twice in a process. A handle that was freed, or that comes from the other side of a fork, is
 * refused with FB_INVALID_ARGUMENT.
 *
 * Any thread may call any function. Calls that move one loader (next, set_epoch, load_state) take
 * turns. Texts are UTF-8 and end with a zero byte.
 *
 * The interface grows and does not change: functions, codes and members of structs are only added,
 * at the end. A struct that the library fills in begins with its size. The caller sets it, so that
 * a program gets exactly the members that it was compiled with. A change that breaks this rule
 * raises FB_ABI_VERSION and the number in the name of the shared library.
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

/* Return code of a function. Later versions may add failures. */
typedef int32_t fb_code;
enum {
  FB_END_OF_EPOCH = -1, /* fb_next: the epoch is over; the next call begins the next one */
  FB_FINISHED = -2,     /* fb_next: all epochs are over, and FB_END_OF_EPOCH was returned */
  FB_TIMED_OUT = -3,    /* fb_next: no batch in time; the next call still returns it */
  FB_OK = 0,
  FB_INVALID_ARGUMENT = 1, /* the arguments make no sense; nothing was done */
  FB_NOT_FOUND = 2,        /* a named object does not exist */
  FB_CORRUPT = 3,          /* an object's bytes violate its format */
  FB_UNAVAILABLE = 4,      /* storage did not answer; a retry may help */
  FB_UNSUPPORTED = 5,      /* valid data of a kind that is not handled */
  FB_OUT_OF_BUDGET = 6,    /* more memory is needed than the budget or the machine has */
  FB_CANCELLED = 7,        /* the loader was closed meanwhile, or its opening was cancelled */
  FB_STATE_MISMATCH = 8,   /* a saved state is of other data, another pipeline or another seed */
  FB_INTERNAL = 9          /* a defect of Forebay */
};

/* Handles. A handle owns its object until the matching free function is called. */
typedef struct fb_loader fb_loader;
typedef struct fb_batch fb_batch;
typedef struct fb_canceller fb_canceller;

/* ---- versions and failures */

/* Returns the FB_ABI_VERSION of the library. Compare it once with that of this header: the library
 * may be newer. */
FB_API int32_t fb_abi_version(void);
/* Returns the version of Forebay, such as "0.1.0". */
FB_API const char* fb_version(void);
/* Returns the name of a code, such as "Corrupt", or "Unknown" for any other number. */
FB_API const char* fb_code_name(fb_code code);

/* The last failure on this thread. The texts are never null. They stay valid until the next failure
 * on this thread. */
typedef struct fb_error {
  size_t struct_size;
  fb_code code;          /* FB_OK if no call has failed */
  const char* message;   /* one line that contains everything below */
  const char* key;       /* key of the object; "" if none */
  const char* op;        /* name of the operator; "" if none */
  int64_t sample;        /* id of the sample; -1 if none */
  int64_t range_offset;  /* first byte of the range in the object; -1 if none */
  int64_t range_length;  /* bytes in the range; -1 if none */
  uint64_t bytes_needed; /* FB_OUT_OF_BUDGET: how many would have been enough; 0 if unknown */
} fb_error;

/* Describes the last failure on this thread. */
FB_API fb_code fb_last_error(fb_error* error);
/* Returns only the message of the last failure; "" if no call has failed. */
FB_API const char* fb_last_error_message(void);

/* ---- a loader */

/*
 * Opens the data set, that is, reads its listing. Nothing else runs before the first fb_next.
 *
 * pipeline_json: the output of Pipeline.to_json() in Python or C++.
 * options_json: a JSON object with any of the loader's options. Names and meanings are those of
 *   Python: seed, epochs, steps_per_epoch, rank, world_size, threads, requests, memory, on_error,
 *   max_errors, storage_options, shard_by, hosts, peers, journal, restart. Null and "" mean that
 *   every option has its default.
 * loader: receives the handle, which the caller frees with fb_loader_free; null after a failure.
 */
FB_API fb_code fb_open(const char* pipeline_json, const char* options_json, fb_loader** loader);

/*
 * Does the same as fb_open, but fb_cancel() on `canceller` ends it with FB_CANCELLED. Use it if
 * slow or unreachable storage must not block the program. A null canceller makes the call
 * uncancellable. After the call has returned, the canceller no longer affects the loader;
 * fb_loader_close() stops the loader. One canceller may serve many openings, at the same time and
 * later.
 */
FB_API fb_code fb_open_cancellable(const char* pipeline_json, const char* options_json, fb_canceller* canceller,
                                   fb_loader** loader);
/* Creates a canceller, which the caller frees with fb_canceller_free. */
FB_API fb_code fb_canceller_new(fb_canceller** canceller);
/*
 * Ends all openings that use this canceller, later ones included. A second call does nothing. Any
 * thread may call it, but a signal handler must not, because it takes locks. Let the handler write
 * to a pipe that a thread reads, or let a thread wait for the signal (sigwait).
 */
FB_API fb_code fb_cancel(fb_canceller* canceller);
/* Frees the canceller. Openings that use it go on and can no longer be cancelled. Null is allowed;
 * freeing it twice is FB_INVALID_ARGUMENT. */
FB_API fb_code fb_canceller_free(fb_canceller* canceller);

/*
 * Returns the next batch, which the caller frees with fb_batch_free. `*batch` is null unless the
 * code is FB_OK. After the last batch of an epoch the function returns FB_END_OF_EPOCH once. Then
 * it returns the first batch of the next epoch, or FB_FINISHED forever after the last epoch.
 *
 * timeout_ms: longest wait in milliseconds; -1 waits without limit. fb_loader_close() from another
 *   thread ends any wait.
 */
FB_API fb_code fb_next(fb_loader* loader, int64_t timeout_ms, fb_batch** batch);

typedef struct fb_loader_info {
  size_t struct_size;
  int64_t epoch;             /* epoch of the next batch */
  int64_t batches_per_epoch; /* of this rank in this epoch, delivered ones included; -1: endless */
  int64_t samples;           /* samples in the data set, after take */
  int32_t rank;
  int32_t world_size;
  int32_t finished;     /* 1 if no batch is left */
  char fingerprint[36]; /* of data set, pipeline and seed: 32 hexadecimal digits */
} fb_loader_info;

/* Describes the loader and its position. */
FB_API fb_code fb_loader_describe(fb_loader* loader, fb_loader_info* info);

/*
 * Begins a new round of the program's loop. The round continues the epoch that the previous round
 * left in the middle. If the option "restart" is true, it begins that epoch again, unless a state
 * was loaded since the last batch. An end of an epoch that fb_next() has not reported yet is
 * dropped.
 */
FB_API fb_code fb_begin(fb_loader* loader);
/* Goes to the beginning of an epoch. Does nothing if the loader is in that epoch already. */
FB_API fb_code fb_set_epoch(fb_loader* loader, int64_t epoch);
/* Returns the position of the loader as JSON, which is the same on every rank. May be called
 * between any two batches. The caller frees the text with fb_string_free. */
FB_API fb_code fb_state(fb_loader* loader, char** json);
/* Goes to a position that fb_state() returned. Ranks, threads and batch size may differ. If
 * `strict` is 0, the state may come from another pipeline that has as many samples. */
FB_API fb_code fb_load_state(fb_loader* loader, const char* json, int32_t strict);
/* Goes on from a state of a pipeline with other parts, weights or sizes of parts: parts of the same
 * names go on where they were. If `strict` is 0, the seed may differ, too. */
FB_API fb_code fb_load_state_of_changed_parts(fb_loader* loader, const char* json, int32_t strict);
/* Gives the parts of a mix other weights from the next batch on. `weights` is a JSON object with a
 * number for each part; names of parts within parts are joined by "/". fb_state() has them. */
FB_API fb_code fb_set_weights(fb_loader* loader, const char* weights);
/* Draws the samples of a data set by other weights from the next batch on: `count` numbers, one for
 * each sample, by id. `version`: your name of them, up to 64 bytes of UTF-8, or null. `part`: the part
 * of a mix that is drawn, or null if only one is. fb_state() has the version and a hash: before
 * fb_load_state() of such a state call this with the same weights and version. */
FB_API fb_code fb_set_sampling(fb_loader* loader, const double* weights, int64_t count, const char* version,
                               const char* part);
/* Returns all counters of the loader (docs/reference/stats.md) as JSON. The caller frees the text
 * with fb_string_free. */
FB_API fb_code fb_stats(fb_loader* loader, char** json);
/* Returns the bad samples that were skipped or replaced, as a JSON list of {sample, key, operator,
 * code, message, count}. The caller frees the text with fb_string_free. */
FB_API fb_code fb_errors(fb_loader* loader, char** json);

/* Stops everything in bounded time. Any thread may call it; calls that wait on other threads return
 * FB_CANCELLED. A second call does nothing. Batches stay valid. */
FB_API fb_code fb_loader_close(fb_loader* loader);
/* Closes and frees the loader. Null is allowed; freeing it twice is FB_INVALID_ARGUMENT. */
FB_API fb_code fb_loader_free(fb_loader* loader);
/* Frees a text that fb_state(), fb_stats() or fb_errors() returned. Null is allowed. */
FB_API fb_code fb_string_free(char* text);

/* ---- a batch */

/* Element types, numbered as in DLPack. */
enum { FB_INT = 0, FB_UINT = 1, FB_FLOAT = 2, FB_BFLOAT = 4, FB_BOOL = 6 };

/* A C-contiguous array in the memory of the batch. */
typedef struct fb_array {
  void* data;         /* aligned to 64 bytes; never null */
  int32_t type;       /* FB_INT, FB_UINT, FB_FLOAT, FB_BFLOAT (16 bits) or FB_BOOL */
  int32_t bits;       /* bits of one element: 8, 16, 32 or 64 */
  int32_t dimensions; /* at most 8 */
  int32_t reserved;
  const int64_t* shape;
  uint64_t bytes; /* bytes of all elements */
} fb_array;

/*
 * Kind of a field, which decides which arrays the field has. Offsets are int64.
 *
 * Ragged fields, bytes and texts have values and offsets (rows + 1 entries). Row i has the values
 * from offsets[i] to offsets[i + 1]. Lists of strings have string_offsets in addition: row i has
 * the strings from offsets[i] to offsets[i + 1], and string s has the bytes of values from
 * string_offsets[s] to string_offsets[s + 1].
 */
enum {
  FB_DENSE = 0,      /* values: (rows, ...) */
  FB_RAGGED = 1,     /* values: (total, ...); offsets: (rows + 1,) */
  FB_BYTES = 2,      /* values: uint8; offsets: (rows + 1,) */
  FB_TEXT = 3,       /* as FB_BYTES, and the bytes are UTF-8 */
  FB_BYTES_LIST = 4, /* values: uint8; offsets: (rows + 1,); string_offsets: (strings + 1,) */
  FB_TEXT_LIST = 5   /* as FB_BYTES_LIST, and the bytes are UTF-8 */
};

typedef struct fb_field {
  size_t struct_size;
  const char* name;
  int32_t kind;
  int32_t arrays; /* 1: values; 2: offsets, too; 3: string_offsets, too; the others are zero */
  fb_array values;
  fb_array offsets;
  fb_array string_offsets;
} fb_field;

typedef struct fb_batch_info {
  size_t struct_size;
  int64_t rows;
  int64_t padding; /* how many rows at the end are repeats */
  int64_t epoch;
  int64_t step;             /* number of the step in the epoch, from 0 */
  const int64_t* ids;       /* (rows,): ids of the samples, repeats included */
  const int64_t* positions; /* (rows,): positions in the epoch's global order */
  int32_t fields;           /* number of fields */
  int32_t reserved;
} fb_batch_info;

/* Describes the batch. The pointers stay valid until the batch is freed. */
FB_API fb_code fb_batch_describe(fb_batch* batch, fb_batch_info* info);
/* Describes field `number`, counted from 0. The pointers stay valid until the batch is freed. */
FB_API fb_code fb_batch_field(fb_batch* batch, int32_t number, fb_field* field);
/* Finds the number of a field by its name. If there is none, returns FB_INVALID_ARGUMENT, with the
 * names of all fields in the message. */
FB_API fb_code fb_batch_find(fb_batch* batch, const char* name, int32_t* number);

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/*
 * Exports an array of a field through DLPack, on the CPU and without a copy. `which` is 0 for
 * values, 1 for offsets, 2 for string_offsets. The tensor keeps the memory alive until its deleter
 * is called, even after the batch is freed. The second function is for consumers of versioned
 * tensors (DLPack 1.0).
 */
FB_API fb_code fb_batch_dlpack(fb_batch* batch, int32_t number, int32_t which, struct DLManagedTensor** tensor);
FB_API fb_code fb_batch_dlpack_versioned(fb_batch* batch, int32_t number, int32_t which,
                                         struct DLManagedTensorVersioned** tensor);

/* Frees the batch. Null is allowed; freeing it twice is FB_INVALID_ARGUMENT. */
FB_API fb_code fb_batch_free(fb_batch* batch);

#ifdef __cplusplus
}
#endif
