/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflection: lists the services of the server and sends their descriptor files.
 *
 * v1 and v1alpha have the same messages in two packages, so the same code serves both. Each request
 * gets one response; a request that cannot be answered gets a response with an error in it, and the
 * stream continues.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/grpc/server_private.h"
#include "proto/grpc/reflection.pb-c.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest question;
typedef Grpc__Reflection__V1__ServerReflectionResponse answer;

#define ASKED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define ANSWERED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name

/* A client that does not read its responses loses the stream instead of using up memory. */
static void send_answer(struct grpc_call *call, answer *a)
{
	if (grpc_send(call, &a->base) < 0)
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "the client does not read its answers");
}

static void answer_error(struct grpc_call *call, answer *a, enum grpc_status status,
			 const char *text)
{
	Grpc__Reflection__V1__ErrorResponse error;

	grpc__reflection__v1__error_response__init(&error);
	error.error_code = status;
	error.error_message = (char *)(uintptr_t)text;
	a->message_response_case = ANSWERED(ERROR_RESPONSE);
	a->error_response = &error;
	send_answer(call, a);
}

static void add_file(const struct grpc__file *f, void *arg)
{
	Grpc__Reflection__V1__FileDescriptorResponse *files = arg;
	ProtobufCBinaryData *all = files->file_descriptor_proto;

	all = mem_resize(all, files->n_file_descriptor_proto + 1, sizeof(*all));
	all[files->n_file_descriptor_proto++] =
		(ProtobufCBinaryData){ f->bytes.n, (uint8_t *)(uintptr_t)f->bytes.p };
	files->file_descriptor_proto = all;
}

/* With all imports: a client that gets them at once does not have to ask for each. */
static void answer_file(struct grpc_call *call, answer *a, struct grpc__descriptors *d,
			struct grpc__file *f)
{
	Grpc__Reflection__V1__FileDescriptorResponse files =
		GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;

	if (!f) {
		answer_error(call, a, GRPC_NOT_FOUND, "not found");
		return;
	}
	grpc__file_walk(d, f, add_file, &files);
	a->message_response_case = ANSWERED(FILE_DESCRIPTOR_RESPONSE);
	a->file_descriptor_response = &files;
	send_answer(call, a);
	free(files.file_descriptor_proto);
}

static void answer_services(struct grpc_call *call, answer *a, const struct grpc_server *s)
{
	Grpc__Reflection__V1__ListServiceResponse list =
		GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
	Grpc__Reflection__V1__ServiceResponse *items;
	size_t n = s->services.n;

	items = arena_array(s->scratch, n, sizeof(*items));
	list.service = arena_array(s->scratch, n, sizeof(*list.service));
	list.n_service = n;
	for (size_t i = 0; i < n; i++) {
		grpc__reflection__v1__service_response__init(&items[i]);
		items[i].name = (char *)(uintptr_t)s->services.items[i];
		list.service[i] = &items[i];
	}
	a->message_response_case = ANSWERED(LIST_SERVICES_RESPONSE);
	a->list_services_response = &list;
	send_answer(call, a);
}

/* The response repeats the request, as the specification asks; it is only borrowed for that. */
static void on_question(struct grpc_call *call, const ProtobufCMessage *message, void *user)
{
	const question *q = (const question *)message;
	struct grpc_server *s = user;
	struct grpc__descriptors *d = s->descriptors;
	answer a;

	grpc__reflection__v1__server_reflection_response__init(&a);
	a.valid_host = q->host;
	a.original_request = (question *)(uintptr_t)q;
	if (q->message_request_case == ASKED(LIST_SERVICES))
		answer_services(call, &a, s);
	else if (q->message_request_case == ASKED(FILE_BY_FILENAME))
		answer_file(call, &a, d, grpc__file_by_name(d, q->file_by_filename));
	else if (q->message_request_case == ASKED(FILE_CONTAINING_SYMBOL))
		answer_file(call, &a, d, grpc__file_of_symbol(d, q->file_containing_symbol));
	else if (q->message_request_case == ASKED(_NOT_SET))
		answer_error(call, &a, GRPC_INVALID_ARGUMENT, "the request is empty");
	else
		answer_error(call, &a, GRPC_NOT_FOUND, "there are no extensions");
}

#define ENTRY(version)                                                                             \
	{                                                                                          \
		.method = { "/grpc.reflection." version ".ServerReflection/ServerReflectionInfo",  \
			    &grpc__reflection__v1__server_reflection_request__descriptor,          \
			    &grpc__reflection__v1__server_reflection_response__descriptor, true }, \
		.handler = on_question, .many = true                                               \
	}

const struct grpc__entry grpc__reflection_entries[2] = { ENTRY("v1"), ENTRY("v1alpha") };
