// The Nest of this folder, and the @weir/nest that uses it, for internal/behaviour.

export * as common from '@nestjs/common'
export * as core from '@nestjs/core'
export * as express from '@nestjs/platform-express'
export * as fastify from '@nestjs/platform-fastify'
export * as weir from '@weir/nest'
